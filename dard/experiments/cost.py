"""What a step costs per method and block length (the paper's table of latency and memory), as ratios to a bare forward.

A bare forward pass (prompt and region, no shadow, head on the rows of the block) is timed before every step of every
decode, so each ratio compares neighbours in time. Memory is the highest level of the whole process (on a GPU: of what
torch has allocated there), weights included, as in the paper.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import torch

from dard.decoders import plain_question
from dard.experiments.base import Experiment, Figure, Job
from dard.experiments.decoding import open_sessions
from dard.experiments.figures import colour_of, figure
from dard.experiments.results import Results, Row
from dard.experiments.tables import Table
from dard.experiments.variants import Scope, Variant, title_of
from dard.models.base import Model, Question
from dard.session import Session

METHODS = ("standard", "saber", "wino", "dard")
MOST_STEPS = 8  # of a decode that are timed


class Cost(Experiment):
    name = "cost"
    title = "Latency and memory of a step"
    paper = "the table of single-step latency and peak memory"
    shows = "what the shadow block and the state update add to a forward pass"
    default_samples = 10
    batch = 1

    def grid(self, scope: Scope) -> list[Variant]:
        blocks: list[int | None] = [None]
        if scope.gen_length is not None:
            blocks = [max(1, scope.gen_length // 2), scope.gen_length]
        return [
            Variant(f"{title_of(method)}, block {block or 'whole'}", method, {"block_length": block})
            for block in blocks
            for method in METHODS
        ]

    def measure(self, job: Job, variant: Variant, samples: Sequence[int]) -> list[Row]:
        return [cost_of(job.model, session) for session in open_sessions(job, variant, samples)]

    def tables(self, results: Results) -> list[Table]:
        rows = []
        for variant in results.started():
            found = summary(results.of(variant))
            rows.append(
                [
                    title_of(variant.decoder),
                    str(variant.settings["block_length"] or "whole"),
                    f"{1000 * found['step']:.2f}",
                    f"{1000 * found['bare']:.2f}",
                    f"{found['ratio']:.2f}",
                    "–" if found["memory"] is None else f"{found['memory'] / 1e9:.3f}",
                    "–" if found["memory_ratio"] is None else f"{found['memory_ratio']:.3f}",
                ]
            )
        columns = [
            "Method", "Block length", "Step (ms)", "Bare (ms)", "Step / bare", "Peak memory (GB)", "Memory / bare",
        ]  # fmt: skip
        where = results.header["machine"]
        caption = (
            f"{results.header['task_title']}, {results.header['model']} on {where['device']}, {where['threads']} "
            f"threads: medians over {results.samples} samples. “Bare” is a forward pass without shadow block and state "
            "update. Only the ratios carry over to other machines."
        )
        return [Table(caption, columns, rows, [variant.name for variant in results.started()])]

    def figure(self, results: Results) -> Figure:
        started = results.started()
        trace = {
            "type": "bar",
            "x": [variant.name for variant in started],
            "y": [summary(results.of(variant))["ratio"] for variant in started],
            "customdata": [variant.name for variant in started],
            "marker": {"color": [colour_of(variant.decoder) for variant in started]},
            "texttemplate": "×%{y:.2f}",
            "hovertemplate": "%{x}: ×%{y:.2f}<extra></extra>",
        }
        title = (
            f"A step as a multiple of a bare forward pass: {results.header['task_title']}, {results.header['model']}"
        )
        return figure([trace], title, "", "step / bare forward", showlegend=False)


def summary(rows: Sequence[Row]) -> dict[str, Any]:
    """Medians over samples. The ratio is the median of the samples' own ratios."""
    memory = [row for row in rows if row["memory"] and row["bare_memory"]]
    return {
        "step": median(row["step_seconds"] for row in rows),
        "bare": median(row["bare_seconds"] for row in rows),
        "ratio": median(row["step_seconds"] / row["bare_seconds"] for row in rows),
        "memory": median(row["memory"] for row in memory) if memory else None,
        "memory_ratio": median(row["memory"] / row["bare_memory"] for row in memory) if memory else None,
    }


def cost_of(model: Model, session: Session) -> Row:
    """Median seconds of a step and of a bare forward, taken in turns along a decode; then the memory of either."""
    steps: list[float] = []
    bare: list[float] = []
    start = session.at(0)
    while not session.finished and len(steps) < MOST_STEPS:
        question = plain_question(model, session.state, session.state.free())
        bare.append(seconds(model, lambda q=question: forward(model, q)))  # type: ignore[misc]
        steps.append(seconds(model, session.step))
    question = plain_question(model, start.state, start.state.free())
    return {
        "step_seconds": round(median(steps), 7),
        "bare_seconds": round(median(bare), 7),
        "timed": len(steps),
        "bare_memory": peak_memory(model, lambda: forward(model, question)),
        "memory": peak_memory(model, start.step),
    }


def forward(model: Model, question: Question) -> None:
    model.logits(question.ids, question.positions, question.mask, question.rows)


def seconds(model: Model, call: Callable[[], Any]) -> float:
    settle(model)
    began = time.perf_counter()
    call()
    settle(model)
    return time.perf_counter() - began


def settle(model: Model) -> None:
    """A GPU works on after a call has returned."""
    if model.device.type == "cuda":
        torch.cuda.synchronize(model.device)


def peak_memory(model: Model, call: Callable[[], Any]) -> int | None:
    """The highest memory in bytes during a call: allocated on the GPU, or resident in this process (Linux)."""
    if model.device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(model.device)
        call()
        settle(model)
        return torch.cuda.max_memory_allocated(model.device)
    try:
        Path("/proc/self/clear_refs").write_text("5")  # forget the highest level so far
    except OSError:
        return None
    call()
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line for line in lines if line.startswith("VmHWM")).split()[1])
