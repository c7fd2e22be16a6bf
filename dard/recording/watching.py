"""A network, watched as somebody else's sampler calls it: hooks on its passes, and nothing of them left behind.

Promises: the sampler gets what it would get without; the network is as before when the watch is over; no error of a
watch reaches the sampler: what cannot be read is warned of once.
Does not know: what is read off a pass.
"""

from __future__ import annotations

import functools
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Self

import torch
from torch import nn
from torch.nn.modules.module import register_module_forward_pre_hook

from dard.core.errors import InputError, plain, warn
from dard.recording.arguments import parameters


class Watch(ABC):
    """A watch on the module that a sampler calls. `_begin` sees what a pass is given, `_answer` what it gives."""

    def __init__(self, network: nn.Module) -> None:
        if not isinstance(network, nn.Module):
            raise InputError(f"network = {str(network)[:60]!r} is not a torch module; give the one the sampler calls")
        self.network = network
        self._open: Any = None  # the pass under way
        self._said: set[str] = set()
        self._unread: list[str] = []  # of passes that cannot be told: why
        self._handles: list[Any] = []
        self._called = False  # `__call__` is under way, and `forward` comes next
        self._inside = 0  # how many `forward` are running
        self._uncompiled: Any = None  # what keeps torch.compile away

    @abstractmethod
    def _begin(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """A pass begins; `_open` becomes what is kept of it, if anything is."""

    @abstractmethod
    def _answer(self, one: Any, output: Any) -> None:
        """The pass that `_begin` opened is over."""

    @abstractmethod
    def _end_of_run(self, failed: bool) -> None:
        """The sampler has returned."""

    def _replaced(self) -> Mapping[str, Any]:
        """What else of the network is another while it is watched, by the attributes' names."""
        return {}

    def __enter__(self) -> Self:
        network, own = self.network, vars(self.network)
        self._own = {id(module) for module in network.modules()}
        self._names = parameters(network.forward)
        ours: dict[str, Any] = {"forward": self._through_call(network.forward), **self._replaced()}
        self._handles += [register_module_forward_pre_hook(self._someone)]
        if callable(compiled := own.get("_compiled_call_impl")):  # network.compile(): its graph has no new hooks
            ours["_compiled_call_impl"] = self._around(compiled)
        else:
            self._handles += [
                network.register_forward_pre_hook(self._before, with_kwargs=True),
                network.register_forward_hook(self._after, with_kwargs=True),
            ]
        self._kept = {name: (mine, own.get(name)) for name, mine in ours.items()}
        own.update(ours)
        return self

    def _through_call(self, forward: Callable[..., Any]) -> Callable[..., Any]:
        """`forward` as it is when `__call__` calls it, or itself; from elsewhere it goes through `__call__`."""

        def routed(*args: Any, **kwargs: Any) -> Any:
            if torch.compiler.is_compiling() or not self._handles:  # someone may have kept it
                return forward(*args, **kwargs)
            if not (self._called or self._inside):
                return self.network(*args, **kwargs)
            self._called = False
            self._inside += 1
            try:
                return forward(*args, **kwargs)
            finally:
                self._inside -= 1

        return functools.update_wrapper(routed, forward, updated=())  # generate() looks at its parameters

    def _around(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def seen(*args: Any, **kwargs: Any) -> Any:
            self._before(self.network, args, kwargs)
            try:
                output = call(*args, **kwargs)
            finally:
                self._called = False
            self._after(self.network, args, kwargs, output)
            return output

        return seen

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles = []
        if self._uncompiled is not None:
            self._uncompiled.__exit__(kind, error, where)
            self._uncompiled = None
        own = vars(self.network)
        for name, (mine, before) in self._kept.items():
            if own.get(name) is mine:  # the sampler may have put another in its place
                del own[name]
                own.update({} if before is None else {name: before})
        try:
            self._end_of_run(failed=kind is not None)
        except Exception as trouble:  # whatever a canvas is, its sampler has returned
            self._cannot(f"what the last pass led to cannot be read ({plain(trouble)})")

    def _before(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if torch.compiler.is_compiling():
            return
        self._called, self._open = True, None
        try:
            self._begin(args, kwargs)
        except Exception as trouble:  # a tensor of a kind that is not known, say
            self._cannot(f"a pass of {type(module).__name__} cannot be read ({plain(trouble)})")

    def _after(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
        if torch.compiler.is_compiling():
            return
        one, self._open = self._open, None
        if one is None:
            return
        one.answered = time.perf_counter()
        try:
            self._answer(one, output)
        except Exception as trouble:
            one.logits = None
            self._say(f"the logits of a pass of {type(module).__name__} cannot be read ({plain(trouble)})")

    def _someone(self, module: nn.Module, args: tuple[Any, ...]) -> None:
        """A forward pass of any module. Another model, which is one with token embeddings, is told of."""
        if torch.compiler.is_compiling() or id(module) in self._own:
            return
        if getattr(module, "_orig_mod", None) is self.network and self._uncompiled is None:
            self._uncompiled = torch.compiler.set_stance("force_eager")  # its graph would not run our hooks
            self._say(
                f"the sampler calls what torch.compile made of {type(self.network).__name__}, which runs uncompiled "
                "here; record what torch.compile returned instead"
            )
        inner = list(module.modules())
        self._own.update(map(id, inner))
        if self.network not in inner and any(isinstance(each, nn.Embedding) for each in inner):
            self._say(
                f"{type(module).__name__} was called inside the recording of {type(self.network).__name__} and is not "
                "in it: what its passes decided counts to the recorded pass before them"
            )

    def _cannot(self, sentence: str) -> None:
        self._unread.append(sentence)
        self._say(sentence)

    def _say(self, sentence: str) -> None:
        if sentence not in self._said:
            self._said.add(sentence)
            warn(f"dard.record: {sentence}", stacklevel=2)
