"""GSM8K and MATH-500: answers compared as mathematics by math-verify."""

from __future__ import annotations

import threading
from typing import Any

from dard.tasks.base import Item, Score
from dard.tasks.benchmarks.base import GEN_LENGTH, Benchmark, last_boxed
from dard.tasks.benchmarks.files import Record, Source

_INSTRUCTION = "Please reason step by step, and put your final answer within \\boxed{}."
_SECONDS = 5  # for parsing or comparing one answer


def same_answer(gold: str, text: str) -> bool:
    """Whether an answer equals the gold one. A boxed answer counts; without a box, the last expression of the text.

    >>> same_answer("0.5", r"It is \\boxed{\\frac{1}{2}}."), same_answer("18", "She has 17")
    (True, False)
    """
    from math_verify import parse, verify  # type: ignore[import-untyped]

    # math-verify measures time by a signal, which only the main thread can have.
    limit: Any = _SECONDS if threading.current_thread() is threading.main_thread() else None
    boxed = last_boxed(text)
    answer = f"${boxed}$" if boxed is not None else text
    return verify(
        parse(f"${gold}$", parsing_timeout=limit), parse(answer, parsing_timeout=limit), timeout_seconds=limit
    )


class Gsm8k(Benchmark):
    name = "gsm8k"
    title = "GSM8K"
    packages = ("math-verify",)
    source = Source("openai/gsm8k", "main/test-00000-of-00001.parquet")

    def item(self, record: Record) -> Item:
        gold = record["answer"].rsplit("####", 1)[-1].strip().replace(",", "")
        return Item(f"{record['question']}\n{_INSTRUCTION}", GEN_LENGTH, gold)

    def score(self, item: Item, text: str) -> Score:
        # The data's own mark for the final answer is accepted as well.
        answer = text.rsplit("####", 1)[-1] if "####" in text and "\\boxed" not in text else text
        return Score(same_answer(str(item.answer), answer))


class Math500(Benchmark):
    name = "math-500"
    title = "MATH-500"
    packages = ("math-verify",)
    source = Source("HuggingFaceH4/MATH-500", "test.jsonl")

    def item(self, record: Record) -> Item:
        return Item(f"{record['problem']}\n{_INSTRUCTION}", GEN_LENGTH, record["answer"])

    def score(self, item: Item, text: str) -> Score:
        return Score(same_answer(str(item.answer), text))
