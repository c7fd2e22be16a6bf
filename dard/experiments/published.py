"""The paper's numbers as data: every table and figure that has any, line by line, to stand beside one's own.

Promises: nothing here was measured by this project.
Does not know: results, or how they are made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Values = Mapping[str, float]


@dataclass(frozen=True)
class Line:
    """A method with some settings, and what was measured of it: by the headings of the experiment's own table."""

    decoder: str
    settings: Mapping[str, Any]
    values: Values
    label: str = ""


@dataclass(frozen=True)
class Published:
    """A table of the paper, or the part of it that is of one benchmark: its label, the experiment that makes it (none
    for pictures, which lmms-eval asks about), and what it was measured on: `tasks` are names of the same benchmark."""

    label: str
    experiment: str
    model: str
    tasks: Sequence[str]
    lines: Sequence[Line] = field(default_factory=tuple)
    scope: Mapping[str, int] = field(default_factory=dict)  # lengths it was measured with


LLADA, MATH, GSM8K = "llada-8b-instruct", ("math-500-wino", "math-500"), ("gsm8k-wino", "gsm8k")
ARC, COUNTDOWN = ("arc-c-wino", "arc-c"), ("countdown-numbers-wino", "countdown-numbers")
MMADA = "mmada-8b-mixcot"
LONG = {"gen_length": 256, "block_length": 128}


def scored(decoder: str, settings: Mapping[str, Any], accuracy: float, passes: float) -> Line:
    return Line(decoder, settings, {"Acc. (%)": accuracy, "Passes": passes})


def fast(decoder: str, per_second: float, accuracy: float) -> Line:
    """The most accurate of a decoder's settings."""
    return Line(decoder, {}, {"Tokens/s": per_second, "Acc. (%)": accuracy})


def latency(decoder: str, block: int, milliseconds: float, gigabytes: float) -> Line:
    return Line(decoder, {"block_length": block}, {"Step (ms)": milliseconds, "Peak memory (GB)": gigabytes})


def by_k(label: str, *values: float) -> Line:
    return Line("standard", {}, dict(zip(("K=1", "K=2", "K=4", "K=8", "K=16"), values, strict=True)), label)


def by_weight(*values: float) -> Line:
    return Line("dard", {}, dict(zip(RANGES, values, strict=True)), "all")


RANGES = ("w < 0.5", "0.5 ≤ w < 0.7", "0.7 ≤ w < 0.9", "w ≥ 0.9")
SABER = scored("saber", {}, 33.2, 81.0)

LATENCY = Published(
    "latency_memory",
    "cost",
    LLADA,
    MATH,
    (
        latency("standard", 256, 137.7, 17.21),
        latency("saber", 256, 141.1, 17.62),
        latency("wino", 128, 183.9, 17.45),
        latency("wino", 256, 229.6, 17.96),
        latency("dard", 128, 186.8, 17.65),
        latency("dard", 256, 232.0, 18.29),
    ),
    {"gen_length": 256},
)

TAU_U = (0.5, 0.6, 0.7, 0.8, 0.9)
TAU = {  # accuracy and passes by τ_c, from the smallest τ_u above it on
    0.2: ((25.2, 32.81), (26.0, 36.76), (24.2, 39.84), (23.8, 43.76), (29.0, 50.11)),
    0.3: ((25.8, 32.37), (25.4, 34.54), (27.2, 37.61), (26.2, 40.90), (28.6, 44.82)),
    0.4: ((30.0, 34.45), (27.6, 37.93), (28.0, 41.07), (28.2, 44.91), (30.8, 51.75)),
    0.5: ((30.0, 39.54), (28.2, 45.50), (31.0, 51.85), (32.0, 59.46)),
    0.6: ((31.4, 48.72), (34.4, 56.94), (34.0, 66.76)),
    0.7: ((32.8, 61.42), (32.2, 74.32)),
}

PUBLISHED: tuple[Published, ...] = (
    Published(
        "attention_mask_ablation",
        "mask-ablation",
        LLADA,
        MATH,
        (
            SABER,
            scored("dard", {"ordering": "bidirectional"}, 31.4, 58.5),
            scored("dard", {"ordering": "l2r"}, 32.0, 59.3),
            scored("dard", {"ordering": "entropy"}, 33.2, 59.1),
            scored("dard", {"ordering": "margin"}, 34.2, 59.3),
            scored("dard", {"ordering": "confidence"}, 34.6, 59.3),
        ),
        LONG,
    ),
    Published(
        "adaptive_logit_mixing",
        "mixing-ablation",
        LLADA,
        MATH,
        (
            SABER,
            scored("dard", {"mixing": 0.0}, 29.2, 82.0),
            scored("dard", {"mixing": 0.5}, 31.1, 63.6),
            scored("dard", {"mixing": 1.0}, 33.4, 57.1),
            scored("dard", {"mixing": "adaptive"}, 34.6, 59.3),
        ),
        LONG,
    ),
    Published(
        "gen_block_length",
        "lengths",
        LLADA,
        MATH,
        (
            scored("dard", {"gen_length": 128, "block_length": 128}, 22.0, 38.9),
            scored("dard", {"gen_length": 128, "block_length": 64}, 27.0, 37.1),
            scored("dard", {"gen_length": 256, "block_length": 256}, 22.4, 62.2),
            scored("dard", {"gen_length": 256, "block_length": 128}, 34.6, 59.3),
            scored("dard", {"gen_length": 256, "block_length": 64}, 32.6, 61.4),
        ),
        {"gen_length": 256},
    ),
    Published(
        "tau_ablation",
        "thresholds",
        LLADA,
        MATH,
        tuple(
            scored("dard", {"tau_c": tau_c, "tau_u": tau_u}, accuracy, passes)
            for tau_c, cells in TAU.items()
            for tau_u, (accuracy, passes) in zip(TAU_U[-len(cells) :], cells, strict=True)
        ),
        LONG,
    ),
    LATENCY,
    Published(
        "adaptive_weight_distribution", "weight-statistics", LLADA, GSM8K, (by_weight(4.7, 5.1, 6.8, 83.3),), LONG
    ),
    Published("adaptive_weight_distribution", "", MMADA, ("scienceqa",), (by_weight(10.7, 5.1, 4.9, 79.2),), LONG),
    Published(
        "ordering_alignment",
        "ordering",
        LLADA,
        GSM8K,
        (
            by_k("overlap confidence", 1.00, 0.86, 0.82, 0.81, 0.81),
            by_k("overlap l2r", 0.24, 0.36, 0.49, 0.60, 0.67),
            by_k("rank_difference confidence", 0.00, 0.74, 1.74, 3.27, 5.62),
            by_k("rank_difference l2r", 15.38, 13.57, 12.52, 12.40, 13.03),
        ),
        LONG,
    ),
    Published(
        "ordering_alignment",
        "",
        MMADA,
        ("flickr30k_test",),
        (
            by_k("overlap confidence", 1.00, 0.73, 0.64, 0.64, 0.69),
            by_k("overlap l2r", 0.04, 0.05, 0.08, 0.11, 0.18),
            by_k("rank_difference confidence", 0.00, 3.08, 5.68, 8.06, 10.06),
            by_k("rank_difference l2r", 46.15, 47.20, 46.83, 46.83, 43.84),
        ),
        LONG,
    ),
    *(
        Published(
            "accuracy_steps_llada",
            "pareto",
            LLADA,
            task,
            (scored("standard", {"per_pass": 1}, plain, 256), scored("dard", {}, best, passes)),
            LONG,
        )
        for task, plain, best, passes in (
            (ARC, 52.17, 81.61, 35), (COUNTDOWN, 29.00, 34.51, 85), (GSM8K, 73.77, 77.86, 48)
        )
    ),
    *(
        Published(
            "accuracy_steps_mmada",
            "",
            MMADA,
            (task,),
            (scored("standard", {"per_pass": 1}, plain, 256), scored("dard", {}, best, passes)),
            LONG,
        )
        for task, plain, best, passes in (
            ("mmmu_val", 20.56, 22.89, 34), ("ai2d", 55.25, 56.15, 37), ("scienceqa_img", 41.89, 44.67, 25)
        )
    ),
    *(
        Published("tps_performance_llada", "pareto", LLADA, task, tuple(fast(*line) for line in lines), LONG)
        for task, lines in (
            (ARC, (("saber", 69.0, 72.2), ("wino", 25.4, 78.9), ("dard", 36.4, 79.6))),
            (GSM8K, (("saber", 30.5, 74.7), ("wino", 30.6, 77.8), ("dard", 34.5, 77.2))),
            (COUNTDOWN, (("saber", 24.7, 28.9), ("wino", 12.1, 31.8), ("dard", 15.5, 34.5))),
        )
    ),
    *(
        Published("tps_performance_mmada", "", MMADA, (task,), tuple(fast(*line) for line in lines), LONG)
        for task, lines in (
            ("ai2d", (("saber", 11.3, 53.3), ("wino", 11.4, 53.9), ("dard", 14.5, 55.5))),
            ("scienceqa_img", (("saber", 13.5, 44.7), ("wino", 14.0, 43.5), ("dard", 16.0, 44.7))),
            ("flickr30k_test", (("saber", 12.2, 54.8), ("wino", 18.5, 57.1), ("dard", 18.2, 59.2))),  # CIDEr
        )
    ),
)  # fmt: skip


def published_for(experiment: str, model: str | None = None, task: str | None = None) -> list[Published]:
    """What the paper has of an experiment; on a model and a benchmark, if they are named."""
    return [
        each
        for each in PUBLISHED
        if each.experiment == experiment and model in (None, each.model) and (task is None or task in each.tasks)
    ]
