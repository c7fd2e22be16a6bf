"""Decode a batch of prompts with one variant and score the answers.

Promises: all samples of a batch are decoded together, and no other variant's samples are among them, so that the wall
time of a batch is this variant's own. A batch gives the same rows whenever it is run.
Does not know: what the rows are for.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from dard import driver
from dard.experiments.base import Job
from dard.experiments.results import Row
from dard.experiments.variants import Variant, settings_of
from dard.metrics import measure
from dard.session import Session


def open_sessions(job: Job, variant: Variant, samples: Sequence[int], record: bool = False) -> list[Session]:
    """A session for each sample, before its first step."""
    found = []
    for sample in samples:
        item = job.scope.items[sample]
        settings = settings_of(variant, item, job.scope)
        found.append(Session(job.model, item.prompt, variant.decoder, record=record, **settings))
    return found


def decode_together(sessions: Sequence[Session]) -> float:
    """Run sessions to their end; the wall time of it in seconds."""
    began = time.perf_counter()
    driver.finish(sessions)
    return time.perf_counter() - began


def decode_and_score(job: Job, variant: Variant, samples: Sequence[int]) -> list[Row]:
    sessions = open_sessions(job, variant, samples)
    return score_all(job, sessions, samples, decode_together(sessions))


def score_all(job: Job, sessions: Sequence[Session], samples: Sequence[int], seconds: float) -> list[Row]:
    """Rows of finished sessions; the wall time is divided among them by their passes."""
    all_passes = sum(len(session.steps) for session in sessions)
    measured = getattr(job.task, "measure", None)
    rows = []
    for session, sample in zip(sessions, samples, strict=True):
        trace = session.trace
        verdict = job.task.score(job.scope.items[sample], trace.text)
        found = measure(trace)
        rows.append(
            {
                "score": round(verdict.details[measured], 6) if measured else float(verdict.right),
                "right": verdict.right,
                "details": dict(verdict.details),
                "passes": trace.num_steps,
                "tokens": sum(not given for given in trace.fixed),
                "revocations": found.revocations,
                "ended_by": trace.ended_by,
                "text": trace.text,
                "seconds": round(seconds * trace.num_steps / all_passes, 6),
            }
        )
    return rows
