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
    """A table or figure of the paper: its label, the experiment that makes it, and what it was measured on."""

    label: str
    experiment: str
    model: str
    task: str
    lines: Sequence[Line] = field(default_factory=tuple)
    scope: Mapping[str, int] = field(default_factory=dict)  # lengths it was measured with


def latency(decoder: str, block: int, milliseconds: float, gigabytes: float) -> Line:
    return Line(decoder, {"block_length": block}, {"Step (ms)": milliseconds, "Peak memory (GB)": gigabytes})


LATENCY = Published(
    "latency_memory",
    "cost",
    "llada-8b-instruct",
    "math500",
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
