"""A plug-in of SGLang that keeps every step of its diffusion algorithms, as lines that `dard view` opens.

    pip install .                      # beside SGLang, which finds it by the entry point `sglang.srt.plugins`
    DARD_TRACES=traces python -m sglang.launch_server --dllm-algorithm JointThreshold …
    dard view traces/*.jsonl --tokenizer FOLDER

Promises: nothing happens unless DARD_TRACES names a folder. An algorithm decides what it would decide without, and no
error of a recording reaches it: it is logged once. A request's lines are in a file of their own, which grows with every
step; only the first of several processes that share a model writes.
Does not know: what a prefix cache spared the engine (a prompt is shown as far as it was seen), canvases of noise (an
algorithm without a mask token is left alone), or a pass that only fills the cache.
"""

from __future__ import annotations

import functools
import json
import logging
import os
import re
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

TARGET = "sglang.srt.dllm.algorithm.base.DllmAlgorithm.__init__"
KEPT = 256  # requests whose prompts are remembered
logger = logging.getLogger(__name__)


def plugin() -> None:
    """What SGLang calls in each of its processes, early."""
    if not (folder := os.environ.get("DARD_TRACES")):
        return
    from sglang.srt.plugins.hook_registry import HookRegistry, HookType

    HookRegistry.register(TARGET, Keeper(Path(folder)).watch, HookType.AFTER)


class Keeper:
    """Writes the steps of every algorithm that it watches into a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.prompts: OrderedDict[str, dict[int, list[int]]] = OrderedDict()  # blocks by where they begin
        self.begun: OrderedDict[str, None] = OrderedDict()
        self.failed = False

    def watch(self, result: None, algorithm: Any, *args: Any, **kwargs: Any) -> None:
        """Called after an algorithm was made: from now on its steps are looked at."""
        if getattr(algorithm, "mask_id", -1) < 0:
            logger.warning("dard: %s has no mask token, so its steps are not kept", type(algorithm).__name__)
            return
        algorithm.run = self._around_run(algorithm, algorithm.run)
        algorithm.step = self._around_step(algorithm, algorithm.step)

    def _around_run(self, algorithm: Any, run: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(run)
        def watched(model_runner: Any, forward_batch: Any, *args: Any, **kwargs: Any) -> Any:
            self._safely(self._note_prompts, algorithm, forward_batch)
            return run(model_runner, forward_batch, *args, **kwargs)

        return watched

    def _around_step(self, algorithm: Any, step: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(step)
        def watched(forward_batch: Any, full_logits: Any, states: Any, **more: Any) -> Any:
            before = self._safely(self._rows, algorithm, forward_batch)
            done = step(forward_batch, full_logits, states, **more)
            if before is not None:
                self._safely(self._keep, algorithm, forward_batch, full_logits, before)
            return done

        return watched

    def _safely(self, do: Callable[..., Any], *args: Any) -> Any:
        try:
            return None if self.failed or not first_of_its_model() else do(*args)
        except Exception:  # an engine that serves is not to stop for this
            self.failed = True
            logger.exception("dard: a step could not be kept; nothing more is")
            return None

    def _rows(self, algorithm: Any, forward_batch: Any) -> list[list[int]]:
        """The ids of every request's block."""
        return forward_batch.input_ids.view(-1, algorithm.block_size).tolist()

    def _note_prompts(self, algorithm: Any, forward_batch: Any) -> None:
        """A block that comes without a mask is one of the prompt, until the request has begun."""
        for name, begin, ids in self._requests(algorithm, forward_batch):
            if algorithm.mask_id not in ids and name not in self.begun:
                self.prompts.setdefault(name, {})[begin] = ids
                while len(self.prompts) > KEPT:
                    self.prompts.popitem(last=False)

    def _requests(self, algorithm: Any, forward_batch: Any) -> list[tuple[str, int, list[int]]]:
        """The name of every request, where its block begins, and the block's ids."""
        rows = self._rows(algorithm, forward_batch)
        begins = forward_batch.positions.view(-1, algorithm.block_size)[:, 0].tolist()
        names = forward_batch.rids or [f"row-{number}" for number in range(len(rows))]
        return list(zip([str(name) for name in names], begins, rows, strict=True))

    def _keep(self, algorithm: Any, forward_batch: Any, full_logits: Any, before: list[list[int]]) -> None:
        """A line for each request of which something was to be decided. A probability is that of the token held now, of
        the best guess where there is none; the logits are those the algorithm itself looked at."""
        import torch

        after = forward_batch.input_ids.view(-1, algorithm.block_size)
        probability = full_logits.view(*after.shape, -1).softmax(-1)
        shown = torch.where(after == algorithm.mask_id, probability.argmax(-1), after)
        numbers = probability.gather(-1, shown[..., None])[..., 0].float().tolist()
        for row, (name, begin, ids) in enumerate(self._requests(algorithm, forward_batch)):
            if ids != before[row] or algorithm.mask_id in before[row]:
                line = {"request": name, "offset": begin, "before": before[row], "after": ids}
                line["probabilities"] = [round(min(1.0, number), 6) for number in numbers[row]]
                self._write(name, self._opening(algorithm, name, begin) | line)

    def _opening(self, algorithm: Any, name: str, begin: int) -> dict[str, Any]:
        """What the first line of a request says beside its step."""
        if name in self.begun:
            return {}
        self.begun[name] = None
        while len(self.begun) > KEPT:
            self.begun.popitem(last=False)
        prompt: list[int] = []
        for place, ids in sorted(self.prompts.pop(name, {}).items()):
            prompt = prompt + ids if place == len(prompt) else prompt
        known = (
            {"prompt_tokens": prompt} if len(prompt) == begin else {}
        )  # all that stands before the block, or nothing
        settings = ("threshold", "edit_threshold", "max_post_edit_steps")
        return {
            "mask_id": algorithm.mask_id,
            "name": type(algorithm).__name__,
            "block_size": algorithm.block_size,
            **{key: getattr(algorithm, key) for key in settings if hasattr(algorithm, key)},
            **known,
        }

    def _write(self, name: str, line: dict[str, Any]) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        file = re.sub(r"[^\w.-]", "_", name)[:100].lstrip(".") or "request"
        with (self.folder / f"{file}.jsonl").open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(line) + "\n")


def first_of_its_model() -> bool:
    """Whether this process is the first, or the only one, of those that share a model."""
    import torch.distributed as processes

    return not (processes.is_available() and processes.is_initialized()) or processes.get_rank() == 0
