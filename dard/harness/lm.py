"""lm-eval: the model "dard" for it, and the command that hands over to its own.

Promises: `generate_until` with shared passes; a conversation goes through the model's own template, an answer begun by
the task included. Tasks that compare likelihoods are refused, for a decoder gives none, and so is lm-eval's cache of
answers, which takes those of another model or other settings for the same.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NoReturn
from unittest.mock import patch

import lm_eval
import lm_eval.evaluator
import torch
from lm_eval._cli.harness import HarnessCLI
from lm_eval.api.model import LM
from lm_eval.api.registry import register_model
from lm_eval.utils import setup_logging

from dard.core.errors import InputError
from dard.core.plugins import without_files
from dard.harness.answers import Answers, Request, bare_prompt, verdict
from dard.models.checkpoint import as_turns
from dard.results.sweep import Process

CACHE = "use_cache is not allowed: lm-eval would take answers of another decoder or other settings for the same"


@register_model("dard")
class DardLM(LM):
    """Any model and decoder of the library; `model_args` are the arguments of `Answers` and settings of the decoder."""

    def __init__(self, *, device: str | None = None, **values: Any) -> None:
        super().__init__()
        # "cuda:0" is what lm-eval says for everyone who says nothing.
        chosen = None if device == "cuda:0" and not torch.cuda.is_available() else device
        process = Process.this()
        if chosen == "cuda:0" and process.count > 1:
            chosen = f"cuda:{process.local}"
        harness = f"lm-eval {lm_eval.__version__}"
        self.answers = Answers(harness, **{"until": ["\n\n"], "device": chosen, **values})
        self._device = self.answers.model.device

    def generate_until(self, requests: Sequence[Any], disable_tqdm: bool = False) -> list[str]:
        model = self.answers.model
        return self.answers.answer(
            [
                Request(partial(bare_prompt, model, each.args[0]), each.task_name, each.doc_id, each.args[1])
                for each in requests
            ]
        )

    def loglikelihood(self, requests: Sequence[Any]) -> NoReturn:
        raise InputError(
            f"task {str(requests[0].task_name)[:60]!r} compares likelihoods, which a decoder does not give; "
            "choose a task that generates (output_type: generate_until)"
        )

    loglikelihood_rolling = loglikelihood

    def apply_chat_template(self, chat_history: Sequence[Mapping[str, str]], add_generation_prompt: bool = True) -> str:
        """A conversation as text; without `add_generation_prompt` its last turn is an answer that goes on."""
        self.chat_template()
        model: Any = self.answers.model
        return as_turns(model.tokenizer, chat_history, model.think, go_on=not add_generation_prompt)

    def chat_template(self, chat_template: bool | str = False) -> str:
        template = getattr(getattr(self.answers.model, "tokenizer", None), "chat_template", None)
        if not template:
            name = self.answers.model.name
            raise InputError(f"apply_chat_template is not allowed; model {name!r} has no chat template")
        return str(template)

    @property
    def tokenizer_name(self) -> str:
        return self.answers.model.name

    def set_cache_hook(self, cache_hook: Any) -> None:
        if cache_hook.dbdict is not None:
            raise InputError(CACHE)
        super().set_cache_hook(cache_hook)

    def judge(self, evaluated: Mapping[str, Any]) -> None:
        """Complete the run's folder by what `lm_eval.evaluate` found, its samples included."""
        scores: dict[tuple[str, int], dict[str, Any]] = defaultdict(dict)
        about: dict[tuple[str, int], dict[str, Any]] = {}
        for task, samples in evaluated["samples"].items():
            seen: Counter[str] = Counter()
            for sample in samples:  # once for every filter; a request knows its place among those that were asked
                key = task, seen[sample["filter"]]
                seen[sample["filter"]] += 1
                scores[key] |= {f"{name},{sample['filter']}": sample[name] for name in sample["metrics"]}
                about[key] = {"sample": sample["doc_id"], "target": str(sample["target"])}
        self.answers.run.judge({key: about[key] | verdict(scores[key]) for key in scores}, evaluated["results"])


def judging(evaluate: Any) -> Any:
    """lm-eval's `evaluate` that also tells our model how each of its answers was judged."""

    def evaluate_and_tell(lm: Any, *rest: Any, log_samples: bool = True, **options: Any) -> Any:
        own = isinstance(lm, DardLM)
        evaluated = evaluate(lm, *rest, log_samples=log_samples or own, **options)
        if own and evaluated is not None:
            if lm.answers.process.index == 0:
                lm.judge(evaluated)
                print(f"every decode is in {lm.answers.run.folder}", file=sys.stderr)
            if not log_samples:
                del evaluated["samples"]
        return evaluated

    return evaluate_and_tell


def run(arguments: Sequence[str]) -> None:
    """lm-eval's command line with these arguments; the model is "dard" unless they name another."""
    setup_logging()
    with patch.object(sys, "argv", ["lm-eval", *without_files(arguments)]):
        cli = HarnessCLI()
        args = cli.parse_args()
    if getattr(args, "use_cache", None):
        raise InputError(CACHE)
    if "model" in args and not args.config:
        args.model = args.model or "dard"
    with patch.object(lm_eval.evaluator, "evaluate", judging(lm_eval.evaluator.evaluate)):
        cli.execute(args)
