"""What benchmarks for real models have in common: records in, prompts and scores out.

Promises: the same data, count and seed give the same items. A benchmark can be asked by several protocols: ours, and
those of papers whose figures one wants to meet. They differ in lengths, in how the prompt is built, in what of the
answer is read, and in settings; the words are ours throughout.
Does not know: models; a chat model wraps the prompt itself.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from dard.core.errors import InputError
from dard.tasks.base import Item, Score
from dard.tasks.benchmarks.files import Record, Source


@dataclass(frozen=True)
class Protocol:
    """How a benchmark is asked. By default ours: 256 tokens in blocks of 128, the question before the instruction.

    `prefill` begins the answer. With `whole` all of the region is read, its marks dropped, and an end in the middle
    ends nothing. `settings` are for `decoder`, or for all. With `published` an answer is read, and counts, as the
    protocol's authors have it. `source`: other records.
    """

    name: str = "ours"
    gen_length: int = 256
    block_length: int = 128
    prefill: str = ""
    whole: bool = False
    decoder: str = "all"
    settings: Mapping[str, Any] = field(default_factory=dict)
    published: bool = False
    source: Source | None = None


OURS = Protocol()
REASONING = "<reasoning>"
_FORM = "First write your reasoning within <reasoning></reasoning>, then the answer within <answer></answer>."


def wino(threshold: float, prefill: str = REASONING, source: Source | None = None) -> Protocol:
    """WINO's: one turn of the user, instruction then question; the answer is begun; the whole region is read."""
    settings = dict(threshold=threshold, threshold_back=0.9)  # noqa: C408 (a key may be no name of a decoder)
    return Protocol(
        "wino", prefill=prefill, whole=True, decoder="wino", settings=settings, published=True, source=source
    )


def llada(length: int, eos: str = "last") -> Protocol:
    """LLaDA's for its instruction models: one block, in which ends come last where its authors hold them back."""
    return Protocol("llada", length, length, settings={"eos": eos})


class Benchmark(ABC):
    """One benchmark over its records. `measure` names the detail that counts, where right or wrong is too coarse."""

    name: str
    title: str
    source: ClassVar[Source | None] = None
    measure: ClassVar[str | None] = None
    runs_code: ClassVar[bool] = False
    packages: ClassVar[tuple[str, ...]] = ()  # of the extra `benchmarks`, to score an answer
    protocols: ClassVar[tuple[Protocol, ...]] = ()  # besides ours

    def __init__(self, records: Sequence[Record], protocol: Protocol = OURS) -> None:
        self.records, self.protocol = records, protocol
        if protocol is not OURS:
            self.name, self.title = f"{self.name}-{protocol.name}", f"{self.title}, protocol {protocol.name}"
        self.block_length, self.prefill = protocol.block_length, protocol.prefill
        self.whole, self.presets = protocol.whole, {protocol.decoder: protocol.settings}

    def ask(self, question: str, instruction: str, answer: str | None, **facts: Any) -> Item:
        """An item whose prompt has both parts in the order of the protocol."""
        prompt = f"{instruction}{self.form}\n\n{question}" if self.form else f"{question}\n{instruction}"
        return Item(prompt, self.protocol.gen_length, answer, facts)

    @property
    def form(self) -> str:
        """What follows an instruction where the answer is begun with a tag."""
        return f" {_FORM}" if self.prefill == REASONING else ""

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
    tagged = re.findall(r"<answer>(.*?)(?:</answer>|$)", text, re.DOTALL)
    return tagged[-1].strip() if tagged else None
