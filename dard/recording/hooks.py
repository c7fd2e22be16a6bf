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

import time
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from dard.core.errors import InputError
from dard.recording.arguments import end_id, layers_of, model_name, repeated, token_ids, whole_canvas
from dard.recording.canvases import CanvasRecording, begins_as_noise
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
from dard.recording.watching import Watch
from dard.trace import Trace
from dard.trace.frames import Frame, check_mask_id
from dard.trace.records import Top

ELSEWHERE = "collect the states in the sampler and give them to dard.Trace.from_tokens"


class Recording(Watch):
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
        super().__init__(network)
        config = getattr(network, "config", None)
        for named in (mask_id, getattr(tokenizer, "mask_token_id", None), getattr(config, "mask_token_id", None)):
            mask_id = named if mask_id is None else mask_id
        if mask_id is None:
            raise InputError(
                f"no mask id is known: neither the tokenizer nor the config of {type(network).__name__} names one; "
                "give mask_id="
            )
        self.tokenizer, self.mask_id = tokenizer, check_mask_id(mask_id)
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
        self._noise: Tensor | bool | None = None  # the ids of the last pass without a mask; True: they change

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
                f"{which} mask (token {self.mask_id}), yet their tokens changed: is mask_id right? To record what "
                "begins as noise and not as masks, leave mask_id out"
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


def record(
    network: nn.Module, tokenizer: Any = None, mask_id: int | None = None, **more: Any
) -> Recording | CanvasRecording:
    """A recording of what a sampler does with a network: of masks, or, where the network has a canvas of noise and no
    mask is named, of that. `more` as `Recording` takes it."""
    if mask_id is None and begins_as_noise(network):
        return CanvasRecording(network, tokenizer, **more)
    return Recording(network, tokenizer, mask_id, **more)
