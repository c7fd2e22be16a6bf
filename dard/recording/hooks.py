"""What any PyTorch sampler does to its canvas, recorded by hooks on the network it calls.

    with dard.record(network, tokenizer) as recording:
        out = their_generate(network, ids)
    recording.trace

Promises: what the sampler gets is what it would get without; the network is as before when the recording is over; no
error of a recording reaches the sampler: what cannot be read is warned of once, and `trace` says it. The states are
those the network was given, and after the last pass what the canvas held then; a number that was not measured is None;
what a sampler did before it failed is kept. Logits are looked at on their device and let go before the next pass.
Does not know: the sampler's rule, a state that never passed through the network (`finish` tells the last one), or what
runs inside a graph that torch.compile made of `forward`.

How it sees: a pre-hook clones the ids, since samplers write into them in place; some samplers call `forward`, past all
hooks, so while recording that goes through `__call__`, and hooks of others run with ours. Where a cache makes the
sampler pass a slice, the slice's base (or, in inference mode, its storage) is the whole canvas. With guidance the batch
is doubled and the first half counts. Positions that repeat at the end of a pass are a shadow block, not text.
"""

from __future__ import annotations

import functools
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

import torch
from torch import Tensor, nn
from torch.nn.modules.module import register_module_forward_pre_hook

from dard.core.errors import InputError
from dard.recording.arguments import end_id, layers_of, model_name, parameters, repeated, token_ids, whole_canvas
from dard.recording.measuring import (
    Pass,
    block_mask,
    guess,
    logits_of,
    measure,
    seen_by,
    shadow_rows,
    text_rows,
)
from dard.trace import Trace
from dard.trace.frames import Frame, check_mask_id
from dard.trace.records import Top

ELSEWHERE = "collect the states in the sampler and give them to dard.Trace.from_tokens"


class Recording:
    """A recording under way, and what it has.

    `network` is the module the sampler calls. `mask_id` is taken from the tokenizer or the network's config where it
    is not given. Without `top` only the confidence of what was decided is measured, which costs less. `shift`: a
    position's prediction stands one place to the left, as in Dream; None: as the config's model type says. `guidance`:
    the batch is doubled; None: seen from the first pass. `name` and `settings` are for whoever looks at the trace.

    >>> from dard.models import load_model
    >>> model = load_model("embedded")
    >>> ids = torch.tensor([[*model.encode("The city of"), model.mask_id, model.mask_id]])
    >>> with Recording(model.network, model.tokenizer, mask_id=model.mask_id) as recording, torch.no_grad():
    ...     for _ in range(2):
    ...         guess = model.network(ids).logits.argmax(-1)
    ...         place = (ids == model.mask_id).nonzero()[0]
    ...         ids[tuple(place)] = guess[tuple(place)]
    >>> [step.decided for step in recording.trace.steps]
    [[0], [1]]
    """

    def __init__(
        self,
        network: nn.Module,
        tokenizer: Any = None,
        mask_id: int | None = None,
        *,
        top: bool = True,
        shift: bool | None = None,
        guidance: bool | None = None,
        name: str = "",
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        if not isinstance(network, nn.Module):
            raise InputError(f"network = {str(network)[:60]!r} is not a torch module; give the one the sampler calls")
        config = getattr(network, "config", None)
        for named in (mask_id, getattr(tokenizer, "mask_token_id", None), getattr(config, "mask_token_id", None)):
            mask_id = named if mask_id is None else mask_id
        if mask_id is None:
            raise InputError(
                f"no mask id is known: neither the tokenizer nor the config of {type(network).__name__} names one; "
                "give mask_id="
            )
        self.network, self.tokenizer, self.mask_id = network, tokenizer, check_mask_id(mask_id)
        self.top, self.guidance, self.name, self.settings = top, guidance, name, settings
        self.config, self.shift = config, bool(shift)
        if shift is None and isinstance(kind := getattr(config, "model_type", None), str):
            from dard.models.mask_filling import KINDS

            self.shift = kind in KINDS and KINDS[kind].shifted
        self._passes: list[Pass] = []
        self._open: Pass | None = None
        self._maskless = 0  # passes before the first that held a mask: a prompt read into a cache, say
        self._in_place: bool | None = None  # whether the tensor passed is the one the sampler writes into
        self._last: Tensor | None = None  # the state after the last pass, once it is over
        self._said: set[str] = set()
        self._unread: list[str] = []  # of passes that cannot be told: why
        self._noise: Tensor | bool | None = None  # the ids of the last pass without a mask; True: they change
        self._handles: list[Any] = []
        self._called = False  # `__call__` is under way, and `forward` comes next
        self._inside = 0  # how many `forward` are running
        self._uncompiled: Any = None  # what keeps torch.compile away

    def __enter__(self) -> Self:
        network, own = self.network, vars(self.network)
        self._own = {id(module) for module in network.modules()}
        self._names = parameters(network.forward)
        ours = {"forward": self._through_call(network.forward)}
        self._handles = [register_module_forward_pre_hook(self._someone)]
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

    def _end_of_run(self, failed: bool) -> None:
        if not self._passes:
            return
        last = self._passes[-1]
        last.ended = time.perf_counter()
        if self._last is None:
            self._last = self._now(over=True)
        if self._last is not None:
            last.confidence = measure(last, self._last, self.mask_id)
        elif not failed and last.answered is not None:
            self._say("what the last pass led to is not known: the sampler passes copies; call recording.finish(out)")
        last.logits = None

    def finish(self, out: Any) -> None:
        """Tell the result, where the tensor passed to the network is not the one the sampler writes into (guidance).

        `out` is what the sampler returned: ids [B, T] with the prompt, or a tuple or an object with `sequences`.
        """
        ids = getattr(out, "sequences", out[0] if isinstance(out, tuple | list) and len(out) else out)
        last = self._latest
        shape = last.state.shape
        if not isinstance(ids, Tensor) or ids.shape != shape:
            was = list(ids.shape) if isinstance(ids, Tensor) else type(ids).__name__
            raise InputError(f"finish was given {was}; it takes the whole canvas, token ids of shape {list(shape)}")
        self._last = ids.detach().clone()
        last.confidence = measure(last, self._last, self.mask_id)

    # What there is.

    @property
    def trace(self) -> Trace:
        """What was recorded until now, of the first row of the batch."""
        return self._trace(0)

    @property
    def traces(self) -> list[Trace]:
        """The same for every row of the batch."""
        return [self._trace(row) for row in range(len(self._latest.state))]

    @property
    def _latest(self) -> Pass:
        if self._unread:
            more = f", and {len(self._unread) - 1} more" if len(self._unread) > 1 else ""
            raise InputError(f"{self._unread[0]}{more}; {ELSEWHERE}")
        if self._passes:
            return self._passes[-1]
        name, seen = type(self.network).__name__, self._maskless
        if not seen:
            raise InputError(
                f"no forward pass of {name} was seen; record the very module that the sampler calls; if it calls what "
                "torch.compile made of its forward, let it not compile"
            )
        which = f"the one pass of {name} held no" if seen == 1 else f"none of the {seen} passes of {name} held a"
        if self._noise is True:
            raise InputError(
                f"{which} mask (token {self.mask_id}), yet their tokens changed: is mask_id right? What starts from "
                "noise and not from masks cannot be recorded yet"
            )
        raise InputError(f"{which} mask (token {self.mask_id}), so nothing was to be decided; is mask_id right?")

    def _trace(self, row: int) -> Trace:
        last = self._latest
        after = self._last if self._last is not None else self._now(over=False)
        states = [one.state for one in self._passes] + ([] if after is None else [after])
        length = max(state.shape[1] for state in states)
        written = [state[row].tolist() for state in states]
        frames = [Frame(ids + [self.mask_id] * (length - len(ids))) for ids in written]
        unfinished = [] if after is None or last.confidence else measure(last, after, self.mask_id)
        for one, frame in zip(self._passes, frames[1:], strict=False):
            confidence = one.confidence or (unfinished if one is last else [])
            self._fill(frame, one, row, confidence)
        return Trace.of_frames(
            frames,
            self.mask_id,
            self.tokenizer,
            name=self.name,
            rule="recorded" + (" · numbers are of the first half of a doubled batch" if self.guidance else ""),
            model=model_name(self.config, self.network),
            settings=self.settings,
            eos_id=end_id(self.tokenizer, self.config),
            num_layers=layers_of(self.config),
            shadow=any(one.shadow[1] for one in self._passes),
        )

    def _fill(self, frame: Frame, one: Pass, row: int, confidence: Sequence[tuple[int, int, float]]) -> None:
        """What a pass tells about the state it led to."""
        best = {}
        for path, (rows, places, ids, probabilities) in one.tops.items():
            here = [n for n, each in enumerate(rows) if each == row]
            frame.paths = {
                **frame.paths,
                path: Top(
                    [places[n] for n in here],
                    len(ids[0]) if ids else 0,
                    [token for n in here for token in ids[n]],
                    [min(10_000, round(10_000 * p)) for n in here for p in probabilities[n]],
                ),
            }
            if path == "x":  # of a position that stays masked, its best guess
                best = {places[n]: probabilities[n][0] for n in here if frame.tokens[places[n]] == self.mask_id}
        frame.confidence = best | {place: p for each, place, p in confidence if each == row}
        place, count = one.shadow
        frame.block = (place, place + count) if count else (one.begin, one.begin + one.width)
        if one.mask is not None:
            frame.mask, frame.outside = block_mask(one.mask[min(row, len(one.mask) - 1)], one)
        if one.answered is not None:
            ended = one.ended or time.perf_counter()
            forward = one.answered - one.began if one.state.device.type == "cpu" else 0.0  # elsewhere it only began
            frame.seconds = (forward, ended - one.began - forward)

    # The hooks.

    def _before(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if torch.compiler.is_compiling():
            return
        self._called, self._open = True, None
        try:
            self._begin(args, kwargs)
        except Exception as trouble:  # a tensor of a kind that is not known, say
            self._cannot(f"a pass of {type(module).__name__} cannot be read ({plain(trouble)})")

    def _begin(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        ids = token_ids(args, kwargs, self._names)
        last = self._passes[-1] if self._passes else None
        if ids is None:
            if last is None or not self._in_place:
                name = type(self.network).__name__
                self._cannot(f"{name} was called without token ids (with embeddings, say), and there is no state of it")
                return
            whole, begin, width = last.canvas, 0, last.canvas.shape[1]
        else:
            whole, begin = whole_canvas(ids, last.canvas if last else None)
            width = ids.shape[1]
        positions = kwargs.get("position_ids")
        shadow = repeated(positions) if isinstance(positions, Tensor) and positions.shape[-1] == width else (0, 0)
        if shadow[1]:
            whole = whole[:, : width - shadow[1]]
            width = whole.shape[1]
        if self._guided(whole):
            whole = whole[: len(whole) // 2]
        state = whole.detach().clone()
        if last is None and not bool((state[:, begin : begin + width] == self.mask_id).any()):
            self._maskless += 1
            if isinstance(self._noise, Tensor) and self._noise.shape == state.shape:
                self._noise = not torch.equal(self._noise, state) or state
            elif self._noise is not True:
                self._noise = state
            return
        if last is not None:
            if not self._belongs(state):
                return
            self._conclude(last, state)
        mask = next((m for m in (*args, *kwargs.values()) if isinstance(m, Tensor) and m.dim() == 4), None)
        seen = seen_by(mask)
        if seen is not None and last is not None and last.mask is not None and torch.equal(seen, last.mask):
            seen = last.mask  # most samplers pass the same one again and again
        if not self._passes:
            self._unread.clear()  # before the first canvas: a prompt read into a cache, say
        self._open = Pass(state, whole, begin, width, shadow, seen, self.shift)
        self._passes.append(self._open)
        self._last = None

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

    def _answer(self, one: Pass, output: Any) -> None:
        logits = logits_of(output)
        rows, asked = len(one.state), one.width + one.shadow[1]
        if logits is None or logits.dim() != 3 or len(logits) < rows or logits.shape[1] != asked:
            return
        one.logits = logits.detach()[:rows]
        one.version = None if logits.is_inference() else logits._version
        if self.top:
            one.tops["x"] = guess(one, one.state == self.mask_id, text_rows)
            if one.shadow[1] and not self.shift:
                one.tops["s"] = guess(one, one.state != self.mask_id, shadow_rows)

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

    # Which canvas.

    def _guided(self, whole: Tensor) -> bool:
        """Whether the second half of a batch is the first without its prompt: then it only steers."""
        if self.guidance is None and not self._passes:
            half = len(whole) // 2
            blank = len(whole) % 2 == 0 and bool((whole[half:] == self.mask_id).all())
            if not blank or bool((whole[:half] == self.mask_id).all()):
                return False
            self.guidance = True
        return bool(self.guidance)

    def _belongs(self, state: Tensor) -> bool:
        """Whether a pass goes on with the canvas. One that only hides the prompt steers, and is left out silently."""
        first, last = self._passes[0].state, self._passes[-1].state
        if len(state) == len(first) and state.shape[1] >= first.shape[1]:
            prompt = (first == self.mask_id).cumsum(1) == 0
            common = state[:, : first.shape[1]]
            if bool((common == first)[prompt].all()):
                return True
            if state.shape == last.shape and bool(
                ((state == last) | ((state == self.mask_id) & (last == first))).all()
            ):
                return False
        self._say(
            f"a pass over {list(state.shape)} tokens, which do not go on with the recorded {list(first.shape)}, "
            "was left out; record each run by itself"
        )
        return False

    def _now(self, over: bool) -> Tensor | None:
        """The state after the last pass, read from the canvas; None if it cannot be known."""
        last = self._passes[-1]
        if last.answered is None:
            return None
        changed = not torch.equal(last.canvas, last.state)
        return last.canvas.detach().clone() if changed or (over and self._in_place) else None

    def _conclude(self, last: Pass, state: Tensor) -> None:
        """A pass is over when the next begins: what it decided is known now, and its logits can go."""
        last.ended = time.perf_counter()
        if last.canvas.shape == state.shape:
            if not torch.equal(last.canvas, state):
                self._in_place = False
            elif not torch.equal(last.state, state):
                self._in_place = True
        last.confidence = measure(last, state, self.mask_id)
        last.logits = None

    def _cannot(self, sentence: str) -> None:
        self._unread.append(sentence)
        self._say(sentence)

    def _say(self, sentence: str) -> None:
        if sentence not in self._said:
            self._said.add(sentence)
            warnings.warn(f"dard.record: {sentence}", stacklevel=2)


record = Recording


def plain(trouble: Exception) -> str:
    return f"{type(trouble).__name__}: {(str(trouble).splitlines() or [''])[0][:200]}"
