"""ARC-Challenge: questions with several choices, answered by a letter."""

from __future__ import annotations

import re

from dard.tasks.base import Item, Score
from dard.tasks.benchmarks.base import Benchmark, last_boxed, llada, wino
from dard.tasks.benchmarks.files import Record, Source

_INSTRUCTION = "Think step by step, and put the letter of the right choice within \\boxed{}."


class ArcChallenge(Benchmark):
    name = "arc-c"
    title = "ARC-Challenge"
    source = Source("allenai/ai2_arc", "ARC-Challenge/test-00000-of-00001.parquet")
    validation = Source("allenai/ai2_arc", "ARC-Challenge/validation-00000-of-00001.parquet")
    protocols = (wino(0.5, source=validation), llada(512, eos="free"))

    def item(self, record: Record) -> Item:
        labels, texts = record["choices"]["label"], record["choices"]["text"]
        choices = "\n".join(f"{label}. {text}" for label, text in zip(labels, texts, strict=True))
        question = f"Question: {record['question']}\n{choices}"
        return self.ask(question, _INSTRUCTION, record["answerKey"], labels=tuple(labels))

    def score(self, item: Item, text: str) -> Score:
        return Score(chosen_label(text, item.facts["labels"]) == item.answer)


def chosen_label(text: str, labels: tuple[str, ...]) -> str | None:
    """The label an answer settles on: boxed, or after "answer is", or the last one that stands alone.

    >>> chosen_label(r"B is wrong, so \\boxed{C}", ("A", "B", "C")), chosen_label("The answer is (B).", ("A", "B"))
    ('C', 'B')
    """
    one = f"({'|'.join(map(re.escape, labels))})"
    boxed = last_boxed(text)
    if boxed is not None:
        letter = re.search(rf"(?<!\w){one}(?!\w)", boxed)
        return letter[1] if letter else None
    named = re.findall(rf"(?i:answer is)\W*{one}(?!\w)", text) or re.findall(rf"(?<!\w){one}(?!\w)", text)
    return named[-1] if named else None
