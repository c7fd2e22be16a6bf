"""Kinds of values that `train` and `evaluate` take, and how they report."""

from __future__ import annotations

import argparse

from dard.tasks import TASKS


def positive(kind: type[int] | type[float], text: str) -> int | float:
    try:
        number = kind(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} must be above 0")
    return number


def count(text: str) -> int:
    return int(positive(int, text))


def minutes(text: str) -> float:
    return positive(float, text)


def tasks(text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(","))
    for name in names:
        if name not in TASKS:
            raise argparse.ArgumentTypeError(f"unknown task {name!r}; there are {', '.join(TASKS)}")
    return names


def report(line: str) -> None:
    # Training runs for hours into a log file: each line must be there when it is written.
    print(line, flush=True)
