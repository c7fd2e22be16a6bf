"""What a step costs per method and block length (the paper's table of latency and memory), as ratios to a bare forward.

A bare forward pass (prompt and region, no shadow, head on the rows of the block) is timed before every step of every
decode, so each ratio compares neighbours in time. Memory is the highest level of the whole process (on a GPU: of what
torch has allocated there), weights included, as in the paper.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import median

from dard.decoders import plain_question
from dard.decoding.session import Session
from dard.experiments.base import Experiment
from dard.experiments.figures import Trace, bars, colour_of
from dard.experiments.points import Point
from dard.experiments.timing import peak_during, seconds
from dard.results.sweep import Job, Row, Scope, Variant, title_of

METHODS = ("standard", "saber", "wino", "dard")
MOST_STEPS = 8  # of a decode that are timed


def ratio(p: Point) -> float:
    """The median of the samples' own ratios."""
    return p.median(lambda row: row["step_seconds"] / row["bare_seconds"])


def memory(cell: Callable[[Row], float]) -> Callable[[Point], str]:
    """The median of a value over the samples whose memory was measured."""

    def text(p: Point) -> str:
        ratios = [cell(row) for row in p.rows if row["memory"] and row["bare_memory"]]
        return f"{median(ratios):.3f}" if ratios else "–"

    return text


class Cost(Experiment):
    name = "cost"
    title = "Latency and memory of a step"
    paper = "the table of single-step latency and peak memory"
    shows = "what the shadow block and the state update add to a forward pass"
    default_samples = 10
    batch = 1
    columns = {
        "Method": lambda p: title_of(p.variant.decoder),
        "Block length": lambda p: str(p.variant.settings["block_length"] or "whole"),
        "Step (ms)": lambda p: f"{1000 * p.median(lambda row: row['step_seconds']):.2f}",
        "Bare (ms)": lambda p: f"{1000 * p.median(lambda row: row['bare_seconds']):.2f}",
        "Step / bare": lambda p: f"{ratio(p):.2f}",
        "Peak memory (GB)": memory(lambda row: row["memory"] / 1e9),
        "Memory / bare": memory(lambda row: row["memory"] / row["bare_memory"]),
    }
    caption = (
        "{task_title}, {model} on {machine[device]}, {machine[threads]} threads: medians over {samples} samples. "
        "“Bare” is a forward pass without shadow block and state update. Only the ratios carry over to other machines."
    )
    chart = ("", "step / bare forward", "A step as a multiple of a bare forward pass: {task_title}, {model}")
    layout = {"showlegend": False}

    def grid(self, scope: Scope) -> list[Variant]:
        length = scope.gen_length
        return [
            Variant(f"{title_of(method)}, block {block or 'whole'}", method, {"block_length": block})
            for block in ([None] if length is None else [max(1, length // 2), length])
            for method in METHODS
        ]

    def measure(self, job: Job, variant: Variant, samples: Sequence[int]) -> list[Row]:
        return [cost_of(session) for session in job.sessions(variant, samples)]

    def traces(self, points: list[Point]) -> list[Trace]:
        colours = {"color": [colour_of(p.variant.decoder) for p in points]}
        return [bars(points, ratio, "%{x}: ×%{y:.2f}<extra></extra>", marker=colours, texttemplate="×%{y:.2f}")]


def cost_of(session: Session) -> Row:
    """Median seconds of a step and of a bare forward, taken in turns along a decode; then the memory of either."""
    device, start = session.model.device, session.at(0)
    steps, bare = [], []
    while not session.finished and len(session.steps) < MOST_STEPS:
        bare.append(seconds(bare_pass(session), device))
        steps.append(seconds(session.step, device))
    bare_peak, peak = peak_during(bare_pass(start), device), peak_during(start.step, device)
    return {
        "step_seconds": round(median(steps), 7),
        "bare_seconds": round(median(bare), 7),
        "timed": len(session.steps),
        "bare_memory": bare_peak and bare_peak[1],
        "memory": peak and peak[1],
    }


def bare_pass(session: Session) -> Callable[[], object]:
    """A forward pass on where a session stands, without shadow block and state update."""
    model, state = session.model, session.state
    question = plain_question(model, state, state.free())
    return lambda: model.logits(question.ids, question.positions, question.mask, question.rows)
