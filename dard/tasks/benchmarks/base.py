"""What benchmarks for real models have in common: records in, prompts and scores out.

Promises: the same data, count and seed give the same items. Answers get 256 tokens in blocks of 128, as in the paper.
Does not know: models; a chat model wraps the prompt itself.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from dard.state import InputError
from dard.tasks.base import Item, Score
from dard.tasks.benchmarks.files import Record, Source

GEN_LENGTH = 256
BLOCK_LENGTH = 128


class Benchmark(ABC):
    """One benchmark over its records. `measure` names the detail that counts, where right or wrong is too coarse."""

    name: ClassVar[str]
    title: ClassVar[str]
    source: ClassVar[Source | None] = None
    measure: ClassVar[str | None] = None
    runs_code: ClassVar[bool] = False
    packages: ClassVar[tuple[str, ...]] = ()  # of the extra `benchmarks`, to score an answer
    block_length: ClassVar[int] = BLOCK_LENGTH

    def __init__(self, records: Sequence[Record]) -> None:
        self.records = records

    def test_items(self, count: int, seed: int = 0) -> list[Item]:
        """`count` items drawn without repetition; asking for all gives them in the order of the file."""
        size = len(self.records)
        if count > size:
            raise InputError(f"samples = {count} is not allowed; {self.name} has {size} records here")
        chosen = range(size) if count == size else np.random.default_rng(seed).permutation(size)[:count].tolist()
        return [self.read(number) for number in chosen]

    def read(self, number: int) -> Item:
        try:
            return self.item(self.records[number])
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise InputError(f"record {number} of {self.name} is not in the usual format: {error!r}"[:300]) from None

    @abstractmethod
    def item(self, record: Record) -> Item:
        """The prompt and what its scorer needs."""

    @abstractmethod
    def score(self, item: Item, text: str) -> Score:
        """Judge an answer."""


def last_boxed(text: str) -> str | None:
    """The content of the last `\\boxed{…}`, braces matched.

    >>> last_boxed(r"so \\boxed{1} or rather \\boxed{\\frac{1}{2}}")
    '\\\\frac{1}{2}'
    """
    start = text.rfind("\\boxed{")
    if start < 0:
        return None
    begin = start + len("\\boxed{")
    depth = 1
    for end in range(begin, len(text)):
        depth += {"{": 1, "}": -1}.get(text[end], 0)
        if depth == 0:
            return text[begin:end]
    return None


def answer_tag(text: str) -> str | None:
    """What stands in the last `<answer>` tag.

    >>> answer_tag("<answer> 1 + 2 </answer>")
    '1 + 2'
    """
    found = re.findall(r"<answer>(.*?)(?:</answer>|$)", text, re.DOTALL)
    return found[-1].strip() if found else None
