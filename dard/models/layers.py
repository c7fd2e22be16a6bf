"""What each layer of a transformers network would have said, were it the last one: its hidden states through the final
norm and the head.

Hidden states come out by watching: a hook on every layer that was asked for keeps what it gave out. So the network is
never changed, and who does not ask pays nothing. A watch sees the passes of its own thread only.
Does not know: which norm or head a family has, beyond finding them where transformers puts them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import partial
from types import TracebackType
from typing import Any

import torch
from torch import Tensor, nn

from dard.core.errors import InputError
from dard.models.base import Question

NORMS = ("norm", "final_norm")  # the last norm of a body; where there is none, its layers norm what they give out


class LayerWatch:
    """Looks on while a network makes a pass, and keeps what its layers gave out."""

    def __init__(self, body: Any, questions: Sequence[Question]) -> None:
        self.body, self.questions, self.thread = body, questions, threading.get_ident()
        self.states: dict[int, Tensor] = {}
        self._hooks: list[Any] = []

    def __enter__(self) -> LayerWatch:
        wanted = {layer for question in self.questions for layer in question.layers}
        stack = stack_of(self.body) if wanted else nn.ModuleList()
        for layer in wanted:
            self._hooks.append(stack[layer].register_forward_hook(partial(self._note, layer)))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        for hook in self._hooks:
            hook.remove()

    def _note(self, layer: int, module: nn.Module, inputs: Any, output: Any) -> None:
        """Of several passes the last one counts: a prefix that is frozen may have to be opened before."""
        if threading.get_ident() == self.thread:
            self.states[layer] = output if isinstance(output, Tensor) else output[0]

    def logits(self, head: Callable[[Tensor], Tensor], number: int) -> Tensor:
        """[layers, R, vocab] of a question, at its rows; those of a frozen prefix were not in this pass."""
        question, norm = self.questions[number], norm_of(self.body)
        frozen = question.frozen
        start = frozen.length if frozen is not None and frozen.opening is not None else 0
        kept = []
        for layer in question.layers:
            states = self.states[layer][number]
            kept.append(head(norm(states[(question.rows - start).to(states.device)])).float())
        return torch.stack(kept)


def stack_of(body: Any) -> nn.ModuleList:
    """The layers of a network, first to last: the list of so many modules that lies nearest to its top."""
    count = int(body.config.num_hidden_layers)
    lists = [(name, each) for name, each in body.named_modules() if isinstance(each, nn.ModuleList)]
    fitting = [(name.count("."), each) for name, each in lists if len(each) == count]
    if not fitting:
        raise InputError("layers cannot be read off this network: it has no list of them")
    return min(fitting, key=lambda pair: pair[0])[1]


def norm_of(body: Any) -> Callable[[Tensor], Tensor]:
    """The norm between the last layer and the head."""
    return next(
        (getattr(body, name) for name in NORMS if isinstance(getattr(body, name, None), nn.Module)), nn.Identity()
    )
