"""What is told of a run, as messages: a lane as it stands, new steps, how far it is, the table of a comparison.

Promises: plain JSON; steps are numbered, so whoever misses one can ask for it again.
Does not know: who asked, or how a run came about.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from dard.decoding.session import Session
from dard.results.sweep import ONE_BY_ONE
from dard.trace import Trace
from dard.trace.annotations import verdict
from dard.trace.metrics import measure
from visual.payload import header, payload, sentence, step_payload
from visual.server.passes import SCHEDULERS, finish
from visual.server.runs import Lane, Run


def view(run: Run, number: int, defaults: dict[str, Any] | None) -> dict[str, Any]:
    """A lane as it stands, and which others there are."""
    lane = run.lanes[number]
    trace = lane.trace
    return {
        "kind": "view",
        "run": run.key,
        "branch": number,
        "branches": run.branches(),
        "defaults": defaults,
        "live": lane.session is not None,
        "finished": trace.finished,
        "payload": payload(trace) if trace.steps else header(trace),
    }


def lane_payload(lane: Lane) -> dict[str, Any]:
    """A lane of a comparison as it begins: nothing decoded yet, or the whole of a trace that was opened."""
    if lane.opened is not None:
        return {**payload(lane.opened, lane.name), "opened": True}
    return header(lane.trace, lane.name)


def steps_of(run: Run, since: dict[int, int], most: int | None = None) -> list[dict[str, Any]]:
    """The steps of these lanes after so many."""
    traces = {number: run.lanes[number].trace for number in since}
    return [
        {"branch": number, "step": step_payload(trace, step)}
        for number, trace in traces.items()
        for step in trace.steps[since[number] :][:most]
    ]


def company(model: str) -> dict[str, int]:
    """How many others share the passes of a model, and how many milliseconds the last one was waited for."""
    scheduler = SCHEDULERS[model]
    return {"others": max(0, scheduler.jobs - 1), "waited": round(1000 * scheduler.waited)}


def made(run: Run, numbers: Iterable[int]) -> dict[str, Any]:
    """How many steps these lanes have and whether they are finished."""
    traces = [(number, run.lanes[number].trace) for number in numbers]
    lanes = [{"branch": number, "steps": len(trace.steps), "finished": trace.finished} for number, trace in traces]
    return {"kind": "made", "run": run.key, "lanes": lanes}


def outcome(session: Session) -> dict[str, Any]:
    """How a decode ended, without its steps."""
    trace = session.trace
    right = verdict(trace, trace.steps[-1]) if session.finished else None
    free = [trace.word(token) for token, given in zip(trace.steps[-1].tokens, trace.fixed, strict=True) if not given]
    text = sentence(" ".join(free), 200)
    return {"text": text, "right": right, "passes": trace.num_steps, "finished": session.finished}


def table(run: Run) -> list[dict[str, Any]]:
    """What each decoder needed; once all have ended, also how they differ from one token per step, where that is the
    same model on the same prompt."""
    reference = one_by_one(run)
    rows = []
    for lane in run.lanes:
        trace = lane.trace
        alike = reference is not None and question(trace) == question(reference)
        numbers = asdict(measure(trace, reference if alike else None))
        right = verdict(trace, trace.steps[-1]) if trace.finished and trace.steps else None
        rows.append(
            {"name": lane.name, **numbers, "right": right, "ended_by": trace.ended_by, "text": sentence(trace.text)}
        )
    return rows


def one_by_one(run: Run) -> Trace | None:
    """One token per step on the same prompt: a lane that does just that, or a decode made for this, once; None where no
    model is there to make it, or decoding is still going on."""
    sessions = [lane.session for lane in run.lanes if lane.session is not None]
    if not sessions or not all(session.finished for session in sessions):
        return None
    if run.reference is None:
        common = {name: getattr(sessions[0].settings, name) for name in ("gen_length", "block_length")}
        plain = Session(sessions[0].model, sessions[0].prompt, ONE_BY_ONE.decoder, record=False, **common)
        twins = [s for s in sessions if s.finished and (s.decoder, s.settings) == (plain.decoder, plain.settings)]
        if not twins:
            finish(run.model, [plain])
        run.reference = (twins or [plain])[0].trace
    return run.reference


def question(trace: Trace) -> tuple[Any, ...]:
    """What two traces have in common whose tokens can be counted against each other."""
    return trace.model, trace.prompt_tokens, trace.start.tokens
