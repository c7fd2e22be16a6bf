"""MBPP: short Python functions, judged by running their tests in a separate process."""

from __future__ import annotations

import re

from dard.tasks.base import Item, Score
from dard.tasks.benchmarks.base import Benchmark, llada, wino
from dard.tasks.benchmarks.files import Record, Source
from dard.tasks.benchmarks.sandbox import passes


class Mbpp(Benchmark):
    name = "mbpp"
    title = "MBPP"
    source = Source("google-research-datasets/mbpp", "full/test-00000-of-00001.parquet")
    runs_code = True
    protocols = (wino(0.8, prefill="```python\n"), llada(256))

    def item(self, record: Record) -> Item:
        tests = [str(test) for test in record["test_list"]]
        task = record["text"] if "text" in record else record["prompt"]
        setup = str(record.get("test_setup_code") or "")
        prompt = (
            f"You are an expert Python programmer, and here is your task: {task} Your code should pass these tests:\n\n"
            + "\n".join(tests)
            + "\n\nWrite the code within ```python and ```."
        )
        return Item(prompt, self.protocol.gen_length, None, {"tests": "\n".join([setup, *tests])})

    def score(self, item: Item, text: str) -> Score:
        return Score(passes(f"{written_code(self.prefill + text)}\n\n{item.facts['tests']}\n"))


def written_code(text: str) -> str:
    """The first fenced block, or what [BEGIN] and [DONE] enclose, or everything.

    >>> written_code("Here:\\n```python\\nx = 1\\n```\\nDone.")
    'x = 1\\n'
    """
    for pattern in (r"```(?:python|py)?\s*\n(.*?)(?:```|$)", r"\[BEGIN\](.*?)(?:\[DONE\]|$)"):
        if fenced := re.search(pattern, text, re.DOTALL):
            return fenced[1]
    return text
