"""What any PyTorch sampler does to its canvas, recorded by hooks on the network it calls.

    with dard.record(network, tokenizer) as recording:
        out = their_generate(network, ids)
    recording.trace

Promises: nothing of the sampler or the network is changed; the states are those the network was given, and after the
last pass what the canvas held then; a number that was not measured is None; what a sampler did before it failed is
kept. Logits are looked at on their device and let go before the next pass.
Does not know: the sampler's rule, or a state that never passed through the network (`finish` tells the last one).

How it sees: a pre-hook clones the ids, since samplers write into them in place. Where a cache makes the sampler pass a
slice, the slice's base (or, in inference mode, its storage) is the whole canvas. With guidance the batch is doubled and
the first half counts. Positions that repeat at the end of a pass are a shadow block, not text.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.modules.module import register_module_forward_pre_hook

from dard.decoders.predict import SLICE_VALUES, top_values
from dard.frames import Frame, check_mask_id, trace_of
from dard.state import InputError
from dard.trace import TOP_K, Top, Trace

Guess = tuple[list[int], list[int], list[list[int]], list[list[float]]]  # rows, places, top ids, their probabilities


@dataclass
class Pass:
    """One forward pass. `state` [B, T] is what it was given, `canvas` the same tensor as the sampler holds it; the pass
    covered the places from `begin` on, `width` of them. `shadow` is where the tail of the pass repeats: (place, count).
    `logits` are there until the next pass; `version` tells whether someone has written into them since."""

    state: Tensor
    canvas: Tensor
    begin: int
    width: int
    shadow: tuple[int, int] = (0, 0)
    mask: Tensor | None = None
    began: float = field(default_factory=time.perf_counter)
    answered: float | None = None
    ended: float | None = None
    logits: Tensor | None = None
    version: int | None = None
    tops: dict[str, Guess] = field(default_factory=dict)
    confidence: list[tuple[int, int, float]] = field(default_factory=list)  # row, place, probability


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
        for found in (mask_id, getattr(tokenizer, "mask_token_id", None), getattr(config, "mask_token_id", None)):
            mask_id = found if mask_id is None else mask_id
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
        self._handles: list[Any] = []

    def __enter__(self) -> Self:
        self._own = {id(module) for module in self.network.modules()}
        self._handles = [
            self.network.register_forward_pre_hook(self._before, with_kwargs=True),
            self.network.register_forward_hook(self._after, with_kwargs=True),
            register_module_forward_pre_hook(self._someone),
        ]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles = []
        if not self._passes:
            return
        last = self._passes[-1]
        last.ended = time.perf_counter()
        if self._last is None:
            self._last = self._now(over=True)
        if self._last is not None:
            last.confidence = self._measure(last, self._last)
        elif kind is None and last.answered is not None:
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
        last.confidence = self._measure(last, self._last)

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
        if self._passes:
            return self._passes[-1]
        name, seen = type(self.network).__name__, self._maskless
        if not seen:
            raise InputError(f"no forward pass of {name} was seen; record the very module that the sampler calls")
        which = f"the one pass of {name} held no" if seen == 1 else f"none of the {seen} passes of {name} held a"
        raise InputError(f"{which} mask (token {self.mask_id}), so nothing was to be decided; is mask_id right?")

    def _trace(self, row: int) -> Trace:
        last = self._latest
        after = self._last if self._last is not None else self._now(over=False)
        states = [one.state for one in self._passes] + ([] if after is None else [after])
        length = max(state.shape[1] for state in states)
        written = [state[row].tolist() for state in states]
        frames = [Frame(ids + [self.mask_id] * (length - len(ids))) for ids in written]
        unfinished = [] if after is None or last.confidence else self._measure(last, after)
        for one, frame in zip(self._passes, frames[1:], strict=False):
            found = one.confidence or (unfinished if one is last else [])
            self._fill(frame, one, row, found)
        return trace_of(
            frames,
            self.mask_id,
            self.tokenizer,
            name=self.name,
            rule="recorded" + (" · numbers are of the first half of a doubled batch" if self.guidance else ""),
            model=self._model(),
            settings=self.settings,
            eos_id=self._end(),
            num_layers=self._layers(),
            shadow=any(one.shadow[1] for one in self._passes),
        )

    def _model(self) -> str:
        """The checkpoint's name; of a folder only its own name, for a trace may be handed on."""
        name = str(getattr(self.config, "_name_or_path", "") or type(self.network).__name__)
        return Path(name).name if len(Path(name).parts) > 2 else name

    def _end(self) -> int | None:
        found = getattr(self.tokenizer, "eos_token_id", None)
        found = getattr(self.config, "eos_token_id", None) if found is None else found
        found = found[0] if isinstance(found, list) and found else found
        return found if isinstance(found, int) else None

    def _layers(self) -> int:
        named = (getattr(self.config, key, None) for key in ("num_hidden_layers", "n_layers", "n_layer"))
        return next((layers for layers in named if isinstance(layers, int) and 1 <= layers <= 255), 1)

    def _fill(self, frame: Frame, one: Pass, row: int, found: Sequence[tuple[int, int, float]]) -> None:
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
        frame.confidence = best | {place: p for each, place, p in found if each == row}
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
        self._open = None
        ids = token_ids(args, kwargs)
        last = self._passes[-1] if self._passes else None
        if ids is None:
            if last is None or not self._in_place:
                raise InputError(
                    f"{type(module).__name__} was called without token ids (with embeddings, say): there is no state "
                    "to record; collect the states in the sampler and give them to dard.Trace.from_tokens"
                )
            whole, begin, width = last.canvas, 0, last.canvas.shape[1]
        else:
            whole, begin = self._place(ids)
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
            return
        if last is not None:
            if not self._belongs(state):
                return
            self._conclude(last, state)
        mask = next((m for m in (*args, *kwargs.values()) if isinstance(m, Tensor) and m.dim() == 4), None)
        seen = seen_by(mask)
        if seen is not None and last is not None and last.mask is not None and torch.equal(seen, last.mask):
            seen = last.mask  # most samplers pass the same one again and again
        self._open = Pass(state, whole, begin, width, shadow, seen)
        self._passes.append(self._open)
        self._last = None

    def _after(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
        one, self._open = self._open, None
        if one is None:
            return
        one.answered = time.perf_counter()
        logits = logits_of(output)
        rows, asked = len(one.state), one.width + one.shadow[1]
        if logits is None or logits.dim() != 3 or len(logits) < rows or logits.shape[1] != asked:
            return
        one.logits = logits.detach()[:rows]
        one.version = None if logits.is_inference() else logits._version
        if self.top:
            one.tops["x"] = self._guess(one, one.state == self.mask_id, self._rows)
            if one.shadow[1] and not self.shift:
                one.tops["s"] = self._guess(one, one.state != self.mask_id, shadow_rows)

    def _someone(self, module: nn.Module, args: tuple[Any, ...]) -> None:
        """A forward pass of any module. Another model, which is one with token embeddings, is told of."""
        if id(module) in self._own:
            return
        inner = list(module.modules())
        self._own.update(map(id, inner))
        if self.network not in inner and any(isinstance(each, nn.Embedding) for each in inner):
            self._say(
                f"{type(module).__name__} was called inside the recording of {type(self.network).__name__} and is not "
                "in it: what its passes decided counts to the recorded pass before them"
            )

    # Which canvas.

    def _place(self, ids: Tensor) -> tuple[Tensor, int]:
        """The whole canvas that ids are a part of, and where they begin in it."""
        canvas = self._passes[-1].canvas if self._passes else None
        for whole in (ids._base, canvas):
            if whole is None or whole.dim() != 2 or len(whole) != len(ids) or whole.dtype != ids.dtype:
                continue
            same = whole.untyped_storage().data_ptr() == ids.untyped_storage().data_ptr()
            alike = whole.stride(1) == ids.stride(1) == 1 and (len(ids) == 1 or whole.stride(0) == ids.stride(0))
            begin = int(ids.storage_offset() - whole.storage_offset())
            if same and alike and 0 <= begin <= whole.shape[1] - ids.shape[1]:
                return whole, begin
        return ids, 0

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
        last.confidence = self._measure(last, state)
        last.logits = None

    def _say(self, sentence: str) -> None:
        if sentence not in self._said:
            self._said.add(sentence)
            warnings.warn(f"dard.record: {sentence}", stacklevel=2)

    # Numbers.

    def _rows(self, one: Pass, places: Tensor) -> Tensor:
        """Where in a pass's logits the prediction of a place stands. Dream's sampler reads the first row twice."""
        return (places - one.begin - int(self.shift)).clamp(min=0)

    def _guess(self, one: Pass, wanted: Tensor, row_of: Any) -> Guess:
        """The most probable tokens at the wanted places that the pass covered."""
        assert one.logits is not None
        rows, places = covered(one, wanted, row_of is shadow_rows)
        ids, probabilities = top_guesses(one.logits, rows, row_of(one, places))
        return rows.tolist(), places.tolist(), ids.tolist(), probabilities.tolist()

    def _measure(self, one: Pass, after: Tensor) -> list[tuple[int, int, float]]:
        """The probability that a pass gave to what was decided in it, and a shadow's to what was revoked."""
        after = after[:, : one.state.shape[1]]
        moved = one.state != after
        found = self._probabilities(one, "x", moved & (after != self.mask_id), after, self._rows)
        if one.shadow[1] and not self.shift:
            found += self._probabilities(one, "s", moved & (after == self.mask_id), one.state, shadow_rows)
        return found

    def _probabilities(
        self, one: Pass, path: str, wanted: Tensor, tokens: Tensor, row_of: Any
    ) -> list[tuple[int, int, float]]:
        rows, places = covered(one, wanted, row_of is shadow_rows)
        chosen = tokens[rows, places]
        if one.logits is not None and (one.version is None or one.logits._version == one.version):
            logits = one.logits[rows, row_of(one, places)].float()
            values = (logits.gather(1, chosen[:, None])[:, 0] - logits.logsumexp(-1)).exp().clamp(max=1)
            return list(zip(rows.tolist(), places.tolist(), values.tolist(), strict=True))
        # Written over since, or gone: what is left is what was noted of it.
        known = {
            (row, place): dict(zip(ids, p, strict=True))
            for row, place, ids, p in zip(*one.tops.get(path, ()), strict=True)
        }
        wanted_tokens = zip(rows.tolist(), places.tolist(), chosen.tolist(), strict=True)
        return [
            (row, place, known[row, place][t]) for row, place, t in wanted_tokens if t in known.get((row, place), {})
        ]


record = Recording


def token_ids(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Tensor | None:
    """The ids a forward pass was given, [B, T]: by name, or the first argument that can be some."""
    for value in (kwargs.get("input_ids"), *args):
        if isinstance(value, Tensor) and value.dtype in (torch.int64, torch.int32) and value.dim() in (1, 2):
            return value if value.dim() == 2 else value[None]
    return None


def logits_of(output: Any) -> Tensor | None:
    """The logits in whatever a network returned, [B, T, vocabulary]."""
    found = getattr(output, "logits", output.get("logits") if isinstance(output, Mapping) else output)
    found = found[0] if isinstance(found, tuple | list) and found else found
    if not isinstance(found, Tensor):
        return None
    return found[None] if found.dim() == 2 else found


def repeated(positions: Tensor) -> tuple[int, int]:
    """Where the positions at the end of a pass stood before, and how many they are: a shadow block.

    >>> repeated(torch.tensor([0, 1, 2, 3, 4, 2, 3, 4]))
    (2, 3)
    >>> repeated(torch.tensor([[1, 1, 0, 1, 2]]))  # padding in front
    (0, 0)
    """
    row = positions.reshape(-1, positions.shape[-1])[0].tolist()
    drop = next((n for n in range(1, len(row)) if row[n] <= row[n - 1]), len(row))
    tail = row[drop:]
    if not tail or tail[0] not in row[:drop]:
        return 0, 0
    place = row.index(tail[0])
    return (place, len(tail)) if row[place : min(place + len(tail), drop)] == tail else (0, 0)


def shadow_rows(one: Pass, places: Tensor) -> Tensor:
    return places - one.shadow[0] + one.width


def covered(one: Pass, wanted: Tensor, shadow: bool) -> tuple[Tensor, Tensor]:
    """Rows and places that are wanted and that the pass, or its shadow, has a prediction for."""
    low, count = one.shadow if shadow else (one.begin, one.width)
    rows, places = wanted[:, low : low + count].nonzero(as_tuple=True)
    return rows, places + low


@torch.no_grad()
def top_guesses(logits: Tensor, rows: Tensor, columns: Tensor) -> tuple[Tensor, Tensor]:
    """The most probable tokens and their probabilities, both [R, k]; a few rows at a time, to make no second logits."""
    size = max(1, SLICE_VALUES // logits.shape[-1])
    ids, probabilities = [], []
    for start in range(0, max(1, len(rows)), size):
        part = logits[rows[start : start + size], columns[start : start + size]].float()
        best, index = top_values(part, min(TOP_K, part.shape[1]))
        ids.append(index)
        probabilities.append((best - part.logsumexp(-1, keepdim=True)).exp().clamp(max=1))
    return torch.cat(ids), torch.cat(probabilities)


def seen_by(mask: Tensor | None) -> Tensor | None:
    """A 4-D attention mask as booleans [B, S, S] on the CPU; an additive one is open where it adds nothing."""
    if mask is None or mask.shape[-1] != mask.shape[-2]:
        return None
    one = mask.detach()[:, 0]
    return (one if one.dtype == torch.bool else one == 0).cpu()


def block_mask(mask: Tensor, one: Pass) -> tuple[NDArray[np.bool_] | None, NDArray[np.bool_] | None]:
    """What block and shadow see of each other [2B, 2B], and what the outside sees of them; without a shadow, and of a
    pass over everything, what everything sees."""
    place, count = one.shadow
    if len(mask) != one.width + count:
        return None, None
    if not count:
        return (mask.numpy() if one.width == one.state.shape[1] else None), None
    inside = torch.cat([torch.arange(place, place + count), torch.arange(one.width, one.width + count)])
    outside = None
    if one.width > count:
        outside = mask[0 if place else place + count, inside].numpy()
    return mask[inside[:, None], inside].numpy(), outside
