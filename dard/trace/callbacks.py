"""What samplers hand to a callback of their own, collected as traces: Dream's hook, diffusers' callback, transformers'
streamer.

Promises: a callback never raises; what it cannot read it warns of, and `trace` says it.
Does not know: files, or the sampler's rule.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dard.core.errors import InputError, plain, warn
from dard.trace.canvases import Canvases, measured
from dard.trace.frames import MAX_SEQUENCE, check_mask_id
from dard.trace.trace import Trace


class Frames:
    """Collects the states that a sampler hands to a callback of its own.

    `model.diffusion_generate(…, generation_tokens_hook_func=frames.dream)`, or
    `pipe(…, callback_on_step_end=frames.diffusers, callback_on_step_end_tensor_inputs=Frames.TENSORS)`. diffusers calls
    after the first step for the first time: what was masked before it tells `active_block`, or `prompt_length`. Its
    pipeline works in whole blocks and may end early; with `gen_length` the trace has as many positions as its output.
    Without a mask id it collects canvases of noise: DiffusionGemma's `generate(…, streamer=frames)`, with `numbers` its
    entropies, too; or its pipeline, with `callback_on_step_end_tensor_inputs=Frames.CANVAS` and then `finish(out)`.
    A callback never raises: what it cannot read it warns of, and `trace` says it.

    >>> frames = Frames(mask_id=0)
    >>> for state in ([[5, 0, 0]], [[5, 6, 0]], [[5, 6, 7]]):
    ...     frames.add(state)
    >>> frames.trace.num_steps
    2
    """

    TENSORS = ("block_x", "active_block", "sampled_probs")  # what LLaDA2Pipeline can hand over and is of use here
    CANVAS = ("canvas", "logits")  # what DiffusionGemmaPipeline can

    def __init__(
        self,
        mask_id: int | None = None,
        words: Any = None,
        *,
        prompt: Sequence[int] = (),
        prompt_length: int | None = None,
        gen_length: int | None = None,
        numbers: bool = False,
        **more: Any,
    ) -> None:
        for name, value in {"prompt_length": prompt_length, "gen_length": gen_length}.items():
            if value is not None and (type(value) is not int or not 0 <= value <= MAX_SEQUENCE):
                raise InputError(f"{name} = {str(value)[:20]!r} is not allowed; it must be from 0 to {MAX_SEQUENCE}")
        self.mask_id = mask_id if mask_id is None else check_mask_id(mask_id)
        self.words, self.prompt_length, self.more = words, prompt_length, more
        self.canvases = Canvases(prompt)
        self.ended = False
        self._takes_logits = numbers  # what transformers asks a streamer for
        self.gen_length = gen_length
        self.states: list[list[list[int]]] = []
        self.measured: list[list[dict[int, float]]] = []
        self.unread = ""  # what is wrong with what a callback was given

    def add(self, ids: Any, logits: Any = None) -> None:
        """A state, ids [B, T], and the logits [B, T, vocabulary] it was decided by, if there are any."""
        if self.mask_id is None:
            raise InputError("states of masks need a mask id; give Frames the mask_id")
        rows = ids.tolist() if hasattr(ids, "tolist") else [list(row) for row in ids]
        before = self.states[-1] if self.states else rows
        numbers: list[dict[int, float]] = [{} for _ in rows]
        if logits is not None:
            for row, (old, new) in enumerate(zip(before, rows, strict=True)):
                for place, (a, b) in enumerate(zip(old, new, strict=True)):
                    if a != b and b != self.mask_id:
                        numbers[row][place] = float(logits[row][place].float().log_softmax(-1)[b].exp())
        self.states.append(rows)
        self.measured.append(numbers)

    def dream(self, step: int | None, x: Any, logits: Any) -> Any:
        """Dream's `generation_tokens_hook_func`: called before the first step and after each, with shifted logits."""
        self._take(lambda: self.add(x, logits), begins=step is None)
        return x

    def diffusers(self, pipe: Any, step: int, timestep: Any, inputs: dict[str, Any]) -> dict[str, Any]:
        """`callback_on_step_end`: `block_x` is everything up to the end of the present block, `sampled_probs` and
        `active_block` are of that block alone: what was predicted there, and what was masked before the step."""
        self._take(lambda: self._stepped(pipe, int(timestep), inputs), begins=step == 0)
        return inputs

    def _stepped(self, pipe: Any, timestep: int, inputs: dict[str, Any]) -> None:
        if self.mask_id is None and "canvas" in inputs and "logits" in inputs:
            self.ended = True
            self.canvases.stepped(pipe.scheduler, timestep, inputs["canvas"], inputs["logits"])
            return
        if "block_x" not in inputs or self.mask_id is None:
            raise InputError(unreadable(pipe, inputs))
        rows = inputs["block_x"].tolist()
        if not self.states:
            masked = inputs["active_block"].tolist() if "active_block" in inputs else [None] * len(rows)
            if "active_block" not in inputs and self.prompt_length is None:
                raise InputError(unreadable(pipe, inputs))
            self.add([self._before(row, each) for row, each in zip(rows, masked, strict=True)])
        before = self.states[-1]
        self.add(rows)
        for row, confidence in enumerate(inputs["sampled_probs"].tolist() if "sampled_probs" in inputs else ()):
            old, new = before[row], rows[row]
            self.measured[-1][row] = {
                place: min(1.0, p)
                for place, p in enumerate(confidence, len(new) - len(confidence))
                if new[place] == self.mask_id or place >= len(old) or old[place] != new[place]
            }

    def put(self, value: Any) -> None:
        """What a streamer of transformers is given: the prompt, and then every canvas that is complete."""
        self._take(lambda: self.canvases.text(value.tolist() if value.dim() == 2 else [value.tolist()]))

    def put_draft(self, value: Any = None, logits: Any = None) -> None:
        """The draft after a pass [B, L], or what it was read off."""
        self._take(
            lambda: self.canvases.drafts(
                [{"drafts": row} for row in value.tolist()] if value is not None else measured(logits)
            )
        )

    def end(self) -> None:
        """The last thing a streamer is told."""

    def finish(self, out: Any) -> None:
        """Tell what the pipeline returned, ids without the prompt [B, T] or an object with `sequences`: its callback is
        told of a canvas before the pipeline makes text of it."""
        told: Any = getattr(out, "sequences", out[0] if isinstance(out, tuple) else out)
        ids = told.tolist()
        wanted = [sum(len(canvas.passes[0].drafts) for canvas in row) for row in self.canvases.rows]
        if [len(row) for row in ids] != wanted:
            raise InputError(f"finish was given rows of {[len(row) for row in ids]}; the canvases have {wanted}")
        self.canvases.finish(ids)

    def _before(self, row: list[int], masked: list[bool] | None) -> list[int]:
        """What a row was before the first step, in which nothing but masks is decided."""
        assert self.mask_id is not None
        begin = len(row) - len(masked) if masked is not None else self.prompt_length or 0
        return [
            self.mask_id if i >= begin and (masked is None or masked[i - begin]) else token
            for i, token in enumerate(row)
        ]

    def _take(self, what: Callable[[], None], begins: bool = False) -> None:
        """What a callback was given. `begins`: the sampler's first call, which a second run makes, too."""
        if self.unread:
            return
        try:
            if begins and (self.states or self.canvases.rows):
                raise InputError("another run called these Frames; give each run Frames of its own")
            what()
        except Exception as trouble:
            known = isinstance(trouble, InputError)
            self.unread = plain(trouble) if known else f"what a callback was given cannot be read ({plain(trouble)})"
            warn(f"dard.trace.readers: {self.unread}", stacklevel=3)

    @property
    def trace(self) -> Trace:
        return self.traces[0]

    @property
    def traces(self) -> list[Trace]:
        """One per row of the batch."""
        if self.canvases.rows and not self.unread:
            return self.canvases.traces(self.words, self.ended, **self.more)
        if self.unread or not self.states:
            raise InputError(self.unread or "no state was collected; was the callback given to the sampler?")
        assert self.mask_id is not None
        length = max(len(rows[0]) for rows in self.states)  # blocks that were not begun yet are masks
        if self.gen_length is not None:
            length = self._prompt() + self.gen_length
        traces = []
        for row in range(len(self.states[0])):
            states = [(rows[row] + [self.mask_id] * (length - len(rows[row])))[:length] for rows in self.states]
            frames = started(states, self.mask_id, self.prompt_length)
            known = [numbers[row] for numbers in self.measured][len(states) - len(frames) + 1 :]
            confidence = [[numbers.get(place) for place in range(len(frames[0]))] for numbers in known]
            traces.append(Trace.from_tokens(frames, self.mask_id, self.words, confidence, **self.more))
        return traces

    def _prompt(self) -> int:
        """Where the prompt ends: at the first mask, which is at the same place in every row of a batch."""
        if self.prompt_length is not None:
            return self.prompt_length
        return min((row.index(self.mask_id) for row in self.states[0] if self.mask_id in row), default=0)


def unreadable(pipe: Any, inputs: Mapping[str, Any]) -> str:
    """What to do about a callback of diffusers that was not given what is needed; advice that the pipeline takes."""
    given = ", ".join(map(str, inputs))[:100] or "nothing"
    offered = getattr(pipe, "_callback_tensor_inputs", Frames.TENSORS)
    if set(Frames.CANVAS) <= {*offered}:
        return (
            f"callback_on_step_end was given {given}; a canvas of noise needs no mask id, and "
            f"callback_on_step_end_tensor_inputs={[*Frames.CANVAS]}"
        )
    if "block_x" in offered:
        return (
            f"callback_on_step_end was given {given}, and for the first time after the first step; give "
            f"callback_on_step_end_tensor_inputs={[name for name in Frames.TENSORS if name in offered]}"
            + ("" if "block_x" not in inputs else ", or tell Frames the prompt_length")
        )
    return (
        f"callback_on_step_end of {type(pipe).__name__} was given {given} and has neither block_x, a canvas of tokens "
        "and masks, nor canvas and logits to offer"
    )


def started(frames: list[Any], mask_id: int, prompt_length: Any) -> list[Any]:
    """States with the one before the first step, which is the prompt and masks; as they are if nothing tells of it."""
    if prompt_length is None:
        return frames
    first = frames[0]
    if type(prompt_length) is not int or not isinstance(first, list) or not 0 <= prompt_length < len(first):
        raise InputError(
            f"prompt_length = {str(prompt_length)[:20]!r} is not allowed; it must leave something to decide"
        )
    start = first[:prompt_length] + [mask_id] * (len(first) - prompt_length)
    return frames if start == first else [start, *frames]
