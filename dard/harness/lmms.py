"""lmms-eval: the model "dard" for it, which sees the pictures of a task before its question.

Found by the entry point "lmms_eval.models". lmms-eval has an environment of its own; docs/evaluation.md says how.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from typing import Any, NoReturn

from lmms_eval.api.model import lmms

from dard.core.errors import InputError
from dard.harness.answers import Answers, Request, pictured_prompt


class DardLmms(lmms):
    """Any model of the library that takes pictures; `model_args` are those of `Answers`, and `fit`."""

    is_simple = True

    def __init__(self, pretrained: str = "mmada-8b-mixcot", fit: str = "crop", **values: Any) -> None:
        super().__init__()
        self.answers, self.fit = Answers(f"lmms-eval {version('lmms-eval')}", pretrained, **values), fit

    def generate_until(self, requests: Sequence[Any]) -> list[str]:
        return self.answers.answer([self._request(*each.args) for each in requests])

    def _request(self, context: str, options: Any, pictures: Any, sample: int, task: str, split: str) -> Request:
        def prompt() -> list[int]:
            document = self.task_dict[task][split][sample]
            return pictured_prompt(self.answers.model, context, pictures(document) or (), self.fit)

        return Request(prompt, task, sample, options)

    def loglikelihood(self, requests: Sequence[Any]) -> NoReturn:
        raise InputError("this task compares likelihoods, which a decoder does not give; choose one that generates")

    def generate_until_multi_round(self, requests: Sequence[Any]) -> NoReturn:
        raise InputError("this task goes over several rounds; a decode is one")
