"""GSM8K and MATH-500: answers compared as mathematics by math-verify; GSM8K by WINO's protocol as numbers."""

from __future__ import annotations

import re
import threading
from typing import Any

from dard.tasks.base import Item, Score
from dard.tasks.benchmarks.base import Benchmark, last_boxed, llada, wino
from dard.tasks.benchmarks.files import Record, Source

_INSTRUCTION = "Please reason step by step, and put your final answer within \\boxed{}."
_SECONDS = 5  # for parsing or comparing one answer
_NUMBER = re.compile(r"[+-]?(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d*)?|[+-]?\.\d+")


def final_number(text: str) -> float | None:
    """The last number of the first box, else the last of the text, as WINO reads an answer.

    >>> final_number(r"9 - 1, so \\boxed{1,008 pens}"), final_number("3 at first, -2.5 then."), final_number("none")
    (1008.0, -2.5, None)
    """
    boxed = re.search(r"\\boxed\{(.*)\}", text)  # up to the last brace of its line
    inside = _NUMBER.findall(boxed[1].replace(",", "").replace("+", "")) if boxed else []
    numbers = inside or _NUMBER.findall(text)
    return float(numbers[-1].replace(",", "")) if numbers else None


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
    protocols = (wino(0.6), llada(512))

    def item(self, record: Record) -> Item:
        gold = record["answer"].rsplit("####", 1)[-1].strip().replace(",", "")
        return self.ask(record["question"], _INSTRUCTION, gold)

    def score(self, item: Item, text: str) -> Score:
        if self.protocol.published:
            number = final_number(text)
            return Score(number is not None and abs(number - float(str(item.answer))) < 1e-5)
        # The data's own mark for the final answer is accepted as well.
        answer = text.rsplit("####", 1)[-1] if "####" in text and "\\boxed" not in text else text
        return Score(same_answer(str(item.answer), answer))


class Math500(Benchmark):
    name = "math-500"
    title = "MATH-500"
    packages = ("math-verify",)
    source = Source("HuggingFaceH4/MATH-500", "test.jsonl")
    protocols = (wino(0.7), llada(512))

    def item(self, record: Record) -> Item:
        return self.ask(record["problem"], _INSTRUCTION, record["answer"])

    def score(self, item: Item, text: str) -> Score:
        return Score(same_answer(str(item.answer), text))
