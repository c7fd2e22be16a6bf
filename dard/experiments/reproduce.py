"""The paper's tables and figures at full size: what each takes, and running them one after the other.

Promises: a run goes on where it was stopped, on any number of processes; what two tables share is run once.
Does not know: how progress is shown. Passes are estimates, from the paper's own numbers where it has any.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from dard.core.errors import InputError
from dard.decoding.session import COMPARED
from dard.experiments.catalogue import find_task, get_experiment
from dard.experiments.choice import Choice
from dard.experiments.paper import PAPER
from dard.experiments.pareto import Pareto
from dard.experiments.plan import Plan, make_plan, run
from dard.experiments.published import LATENCY, LONG, PUBLISHED
from dard.models.base import Model
from dard.results.sweep import Process, Scope
from dard.tasks import Item

ITEMS = {  # of a full run: the benchmark's test set where it is on the hub, else as many as we draw
    "math-500-wino": 500, "gsm8k-wino": 1319, "arc-c-wino": 1172, "mbpp-wino": 500, "countdown-numbers-wino": 256,
    "sudoku-grids-wino": 256,
}  # fmt: skip
LLADA, LLADA_15 = "llada-8b-instruct", "llada-1.5"
OTHERS = 60.0  # passes of 256 tokens, where the paper has no number: about what its tables have
PASS = min(line.values["Step (ms)"] for line in LATENCY.lines) / 1000  # of the paper's machine
SHADOW = max(line.values["Step (ms)"] for line in LATENCY.lines) / 1000 / PASS


@dataclass(frozen=True)
class Work:
    """One experiment on one benchmark."""

    experiment: str
    model: str
    task: str
    samples: int

    @property
    def choice(self) -> Choice:
        """The decoders of the paper, where there are others, too; all on a small world."""
        sweeps = isinstance(get_experiment(self.experiment), Pareto) and self.task in ITEMS
        return Choice(COMPARED) if sweeps else Choice()

    @property
    def folder(self) -> str:
        """Its own, below that of all results."""
        return f"{self.model}-{self.task}"


def work(experiment: str, *tasks: str, model: str = LLADA, samples: int | None = None) -> tuple[Work, ...]:
    return tuple(Work(experiment, model, task, samples or ITEMS[task]) for task in tasks)


THREE = ("arc-c-wino", "gsm8k-wino", "countdown-numbers-wino")
FULL: dict[str, tuple[Work, ...]] = {
    "attention_mask_ablation": work("mask-ablation", "math-500-wino"),
    "adaptive_logit_mixing": work("mixing-ablation", "math-500-wino"),
    "gen_block_length": work("lengths", "math-500-wino"),
    "adaptive_weight_distribution": work("weight-statistics", "gsm8k-wino"),
    "ordering_alignment": work("ordering", "gsm8k-wino", samples=100),
    "accuracy_steps_llada": work("pareto", *THREE),
    "tau_ablation": work("thresholds", "math-500-wino"),
    "tps_performance_llada": work("pareto", *THREE),
    "latency_memory": work("cost", "math-500-wino", samples=10),
    "experiment_llm": work("pareto", *ITEMS),
    "experiment_llada1_15": work("pareto", *ITEMS, model=LLADA_15),
    "gen_length_ablation": work("budgets", "math-500-wino"),
}
SMALL = 8  # samples of the small counterparts


@dataclass(frozen=True)
class Needs:
    """What a table takes: forward passes, and hours at a speed; `words` says the rest."""

    label: str
    command: str
    passes: int
    hours: float
    words: str


def small_work(label: str, samples: int | None) -> tuple[Work, ...]:
    """The small counterpart on the embedded model, as `PAPER` names it."""
    words = (PAPER[label].command or "").split()
    if words[:1] != ["experiment"]:
        return ()
    experiment = get_experiment(words[1])
    task = words[words.index("--task") + 1] if "--task" in words else experiment.default_task
    return (Work(experiment.name, "embedded", task, samples or SMALL),)


def works(labels: Sequence[str] | None, small: bool, samples: int | None) -> dict[str, tuple[Work, ...]]:
    """The work behind tables and figures: those that are named, or all."""
    for label in labels or ():
        if label not in PAPER:
            raise InputError(f"{label[:60]!r} is no table or figure of the paper; there are {', '.join(PAPER)}")
    chosen = {label: (small_work(label, samples) if small else FULL.get(label, ())) for label in labels or PAPER}
    return {
        label: tuple(Work(w.experiment, w.model, w.task, min(w.samples, samples or w.samples)) for w in of)
        for label, of in chosen.items()
    }


def passes_of(each: Work) -> int:
    """Forward passes of a work, about."""
    masks = LONG["gen_length"]
    scope = Scope([Item("", masks, None)], masks, LONG["block_length"])
    known = [
        line.values["Passes"] for paper in PUBLISHED for line in paper.lines
        if paper.experiment == each.experiment and "Passes" in line.values and line.values["Passes"] < masks
    ]  # fmt: skip
    usual = fmean(known) if known else OTHERS
    total = 0.0
    for variant in each.choice.apply(get_experiment(each.experiment).grid(scope)):
        per_pass = variant.settings.get("per_pass")
        length = variant.settings.get("gen_length", masks)
        total += (length / per_pass if per_pass else usual * length / masks) * each.samples
    return round(total)


def needs(labels: Sequence[str] | None = None, pass_seconds: float = PASS, samples: int | None = None) -> list[Needs]:
    """What every table and figure takes, at full size; what it shares with one above it is not counted again."""
    seen: set[Work] = set()
    told = []
    for label, of in works(labels, False, samples).items():
        new = [each for each in of if each not in seen]
        shared = len(of) - len(new)
        seen |= set(new)
        passes = sum(map(passes_of, new))
        words = PAPER[label].needs if not of else f"{of[0].model}: a GPU of 24 GB, or of 16 GB in 4 bits; or more"
        if shared:
            words += f"; {shared} of {len(of)} benchmarks shared with a line above"
        command = f"reproduce {label}" if of else PAPER[label].command or "–"
        told.append(Needs(label, command, passes, passes * pass_seconds * SHADOW / 3600, words))
    return told


@dataclass(frozen=True)
class Progress:
    """After a batch: which table, how many rows of all of its rows, and seconds left by the speed so far."""

    label: str
    work: Work
    done: int
    total: int
    left: float
    plan: Plan


def reproduce(
    todo: dict[str, tuple[Work, ...]],
    model: Model,
    out: str | Path,
    *,
    budget: float | None = None,
    process: Process = Process(),  # noqa: B008 (it cannot change)
    **options: Any,
) -> Iterator[Progress]:
    """Run what is missing, the shortest first, until all is done or `budget` seconds have gone by."""
    began, seen = time.monotonic(), set[Work]()
    pairs = sorted(((label, each) for label, of in todo.items() for each in of), key=lambda pair: passes_of(pair[1]))
    for label, each in pairs:
        if each in seen:
            continue
        seen.add(each)
        task = find_task(each.task, **options)
        plan = make_plan(each.experiment, model, task, each.samples, choice=each.choice)
        first: tuple[float, int] | None = None
        for progress in run(plan, Path(out) / each.folder, process=process):
            now = time.monotonic()
            first = first or (now, progress.done)
            fresh = progress.done - first[1]
            left = (now - first[0]) / fresh * (progress.total - progress.done) if fresh else float("nan")
            yield Progress(label, each, progress.done, progress.total, left, plan)
            if budget is not None and now - began > budget:
                return
