"""What other programs keep of a decode, as traces: lists of states, maps of steps, and the callbacks samplers offer.

Promises: a file is read with bounds and never executed; what is missing is asked for by name, never guessed. Files:

| what | how it looks |
| --- | --- |
| a trace of ours | JSON with "format": "dard-trace" |
| states | a JSON list of lists of ids (or of lists of rows of ids, for a batch), the first before the first step |
| dllm's `histories` | the same under "histories" or "frames", or as `torch.save` wrote the list |
| Dream's `.history` | under "history": it begins after the first step, so `prompt_length` must be told |
| a map of steps | "step_map" and "tokens": the step each token was decided in; null: masked to the end, −1: given |

An object may also hold mask_id, words (texts by id), prompt_length, prompt_tokens (with a step_map), confidence, model,
name and eos_id. All but JSON's own types are refused.
"""

from __future__ import annotations

import io
import json
import pickle
import re
import warnings
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dard.core.errors import InputError
from dard.trace.format import bounded_gunzip, read_bytes
from dard.trace.frames import MAX_SEQUENCE, MAX_TOKEN, check_mask_id
from dard.trace.limits import MAX_FILE_BYTES, MAX_STEPS, MAX_TOKEN_TEXT, TraceError
from dard.trace.trace import Trace

STATES = ("frames", "histories", "history")
MAX_IDS = 16_000_000  # in a file of tensors, which may claim more than it holds
MAX_ROWS = 1024


def trace_name(path: str | Path) -> str:
    """What a file of a decode is called: its name without the endings that such files have.

    >>> trace_name("runs/fast_generate_0.5.trace.json.gz")
    'fast_generate_0.5'
    """
    return re.sub(r"(\.trace)?(\.json|\.pt|\.pth)?(\.gz)?$", "", Path(path).name) or "trace"


def load(path: str | Path, **told: Any) -> list[Trace]:
    """The traces in a file, one per row of a batch; see `read`."""
    return read(read_bytes(path), **told)


def read(
    data: bytes, *, mask_id: int | None = None, words: Any = None, prompt_length: int | None = None
) -> list[Trace]:
    """The traces in a file's bytes. What is told here goes before what the file says.

    >>> [trace] = read(b'{"frames": [[5, 0, 0], [5, 0, 7], [5, 6, 7]], "mask_id": 0}')
    >>> trace.prompt_tokens, [step.decided for step in trace.steps], trace.steps[0].confidence
    ([5], [[1], [0]], [None, None])
    """
    if data[:2] == b"\x1f\x8b":
        data = bounded_gunzip(data)
    body = from_torch(data) if data[:4] == b"PK\x03\x04" else from_json(data)
    if isinstance(body, dict) and "format" in body:
        return [Trace.from_bytes(data)]
    if isinstance(body, list):
        body = {"frames": body}
    if not isinstance(body, dict) or not any(key in body for key in (*STATES, "step_map")):
        raise TraceError(f"the file is no trace, and holds none of {', '.join(STATES)} and step_map")
    told = {"mask_id": mask_id, "words": words, "prompt_length": prompt_length}
    body |= {name: value for name, value in told.items() if value is not None}
    if body.get("mask_id") is None:
        raise InputError("no mask id is known: the file names none; tell it (--mask-id, or mask_id=)")
    check_mask_id(body["mask_id"])
    more = {name: text(body, name) for name in ("model", "name")} | {"eos_id": body.get("eos_id")}
    if more["eos_id"] is not None and (type(more["eos_id"]) is not int or not 0 <= more["eos_id"] <= MAX_TOKEN):
        raise TraceError(f"eos_id = {str(more['eos_id'])[:20]!r} is not a token id")
    if words is None:
        body["words"] = texts(body.get("words"))
    if "step_map" in body:
        prompt = body.get("prompt_tokens") or []
        return [from_step_map(body["step_map"], body.get("tokens"), body["mask_id"], body["words"], prompt, **more)]
    return from_states(body, more)


def from_states(body: dict[str, Any], more: dict[str, Any]) -> list[Trace]:
    key = next(name for name in STATES if name in body)
    frames, length = body[key], body.get("prompt_length")
    if key == "history" and length is None:
        raise InputError(
            "history begins after the first step, as Dream's does; tell where the prompt ends "
            "(--prompt-length, or prompt_length)"
        )
    if not isinstance(frames, list) or not frames:
        raise TraceError(f"{key} is not a list of states")
    batch = isinstance(frames[0], list) and bool(frames[0]) and isinstance(frames[0][0], list)
    if not batch:
        frames = [[frame] for frame in frames]
    if any(not isinstance(frame, list) or len(frame) != len(frames[0]) for frame in frames):
        raise TraceError(f"{key} holds states of different numbers of rows")
    if len(frames[0]) > MAX_ROWS or (batch and body.get("confidence") is not None and len(frames[0]) > 1):
        raise TraceError(
            f"{key} holds {len(frames[0])} rows; at most {MAX_ROWS} are read, and confidence for one alone"
        )
    return [
        Trace.from_tokens(
            started([frame[row] for frame in frames], body["mask_id"], length),
            body["mask_id"],
            body["words"],
            body.get("confidence"),
            **more,
        )
        for row in range(len(frames[0]))
    ]


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


def text(body: Mapping[str, Any], name: str) -> str:
    if not isinstance(value := body.get(name, ""), str):
        raise TraceError(f"{name} is not a text")
    return value


def texts(words: Any) -> dict[int, str] | None:
    """Texts by id, from an object or a list."""
    if words is None:
        return None
    pairs = words.items() if isinstance(words, dict) else enumerate(words) if isinstance(words, list) else None
    if pairs is None:
        raise TraceError("words is neither an object of texts by id nor a list of texts")
    by_id = {}
    for key, value in pairs:
        if not str(key).isascii() or not str(key).isdigit() or len(str(key)) > 8 or not isinstance(value, str):
            raise TraceError(f"words holds {str(key)[:20]!r}: {str(value)[:20]!r}, which is not a text by a token id")
        by_id[int(key)] = value[:MAX_TOKEN_TEXT]
    return by_id


def from_json(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        raise TraceError("the file is neither JSON nor what torch.save writes") from None


def from_torch(data: bytes) -> Any:
    """What `torch.save` wrote, tensors as lists. Only tensors and plain containers are read; no code in it is run."""
    import torch

    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            if sum(each.file_size for each in archive.infolist()) > MAX_FILE_BYTES:
                raise TraceError(f"the file unpacks to more than {MAX_FILE_BYTES >> 20} MB")
        body = torch.load(io.BytesIO(data), map_location="cpu", weights_only=True)
    except TraceError:
        raise
    except (pickle.UnpicklingError, RuntimeError, ValueError, KeyError, EOFError, zipfile.BadZipFile, OSError):
        raise TraceError(
            "the file of torch.save is broken or holds more than tensors; save the list of states"
        ) from None
    room = [MAX_IDS]

    def plain(value: Any, depth: int = 0) -> Any:
        if isinstance(value, torch.Tensor):
            room[0] -= value.numel()
            if room[0] < 0 or value.is_floating_point() or value.is_complex() or value.layout != torch.strided:
                raise TraceError(f"the file holds other tensors than ids, or more than {MAX_IDS} ids")
            return value.tolist()
        if isinstance(value, list | tuple) and depth < 4:
            return [plain(each, depth + 1) for each in value]
        if isinstance(value, dict) and depth < 2:
            return {str(key): plain(each, depth + 1) for key, each in value.items()}
        if value is None or isinstance(value, str | int | float | bool):
            return value
        raise TraceError(f"the file holds a {type(value).__name__}, which is no state")

    return plain(body)


# Maps of steps.


def from_step_map(
    step_map: Any, tokens: Any, mask_id: int, words: Any = None, prompt: Sequence[int] = (), **more: Any
) -> Trace:
    """A trace from the step each token was decided in. The smallest number is the first step, however it counts.

    >>> trace = from_step_map([1, 0, 1], [7, 8, 9], mask_id=0)
    >>> [step.decided for step in trace.steps]
    [[1], [0, 2]]
    """
    step_map, tokens, prompt = (
        [*each] if isinstance(each, list | tuple) else each for each in (step_map, tokens, prompt)
    )
    if not isinstance(tokens, list) or not isinstance(step_map, list) or len(step_map) != len(tokens):
        raise InputError("a step_map needs tokens, one id for each of its entries")
    if any(step is not None and (type(step) is not int or not -1 <= step <= 2**31) for step in step_map):
        raise InputError("a step_map holds whole numbers, −1 for what was given, or null for what stayed masked")
    if not isinstance(prompt, list):
        raise InputError("prompt_tokens is not a list of token ids")
    decided = [step for step in step_map if step is not None and step >= 0]
    low, high = min(decided, default=0), max(decided, default=-1)
    if high - low >= MAX_STEPS or len(step_map) * (high - low) > MAX_IDS:
        raise InputError(f"a step_map from {low} to {high} spans too many steps; at most {MAX_STEPS} are shown")
    frames = [
        [*prompt, *(t if s is not None and s < now else mask_id for t, s in zip(tokens, step_map, strict=True))]
        for now in range(low, high + 2)
    ]
    return Trace.from_tokens(frames, mask_id, words, **more)


def to_step_map(trace: Trace, drop_revocations: bool = False) -> dict[str, Any]:
    """The step, counted from 0, in which each token was decided, with what `read` needs to make a trace of it again.

    A step_map cannot hold a revocation: a trace with one is refused, unless it is to be dropped; then the last decision
    of each position counts.

    >>> trace = Trace.from_tokens([[5, 0, 0], [5, 0, 7], [5, 6, 7]], 0)
    >>> to_step_map(trace)["step_map"]
    [1, 0]
    """
    lost = [(step.index, i) for step in trace.steps for i in (*step.demoted, *step.replaced)]
    if lost and not drop_revocations:
        raise InputError(
            f"a step_map cannot hold a revocation, and this trace has {len(lost)}, the first in step {lost[0][0]} at "
            f"position {lost[0][1]}; drop_revocations=True keeps each position's last decision"
        )
    blank, states = trace.about.blank, trace.states
    when: list[int | None] = [None if state in blank else -1 for state in states]
    for step in trace.steps:
        for i in (*step.decided, *step.replaced):
            when[i] = None if states[i] in blank else step.index - 1
    return {
        "step_map": when,
        "tokens": trace.tokens,
        "prompt_tokens": trace.prompt_tokens,
        "mask_id": trace.mask_id,
        "words": {str(token): word for token, word in trace.token_text.items()},
    }


# Callbacks.


class Frames:
    """Collects the states that a sampler hands to a callback of its own.

    `model.diffusion_generate(…, generation_tokens_hook_func=frames.dream)`, or
    `pipe(…, callback_on_step_end=frames.diffusers, callback_on_step_end_tensor_inputs=Frames.TENSORS)`. diffusers calls
    after the first step for the first time: what was masked before it tells `active_block`, or `prompt_length`. Its
    pipeline works in whole blocks and may end early; with `gen_length` the trace has as many positions as its output.
    A callback never raises: what it cannot read it warns of, and `trace` says it.

    >>> frames = Frames(mask_id=0)
    >>> for state in ([[5, 0, 0]], [[5, 6, 0]], [[5, 6, 7]]):
    ...     frames.add(state)
    >>> frames.trace.num_steps
    2
    """

    TENSORS = ("block_x", "active_block", "sampled_probs")  # what LLaDA2Pipeline can hand over and is of use here

    def __init__(
        self,
        mask_id: int,
        words: Any = None,
        *,
        prompt_length: int | None = None,
        gen_length: int | None = None,
        **more: Any,
    ) -> None:
        for name, value in {"prompt_length": prompt_length, "gen_length": gen_length}.items():
            if value is not None and (type(value) is not int or not 0 <= value <= MAX_SEQUENCE):
                raise InputError(f"{name} = {str(value)[:20]!r} is not allowed; it must be from 0 to {MAX_SEQUENCE}")
        self.mask_id, self.words, self.prompt_length, self.more = check_mask_id(mask_id), words, prompt_length, more
        self.gen_length = gen_length
        self.states: list[list[list[int]]] = []
        self.measured: list[list[dict[int, float]]] = []
        self.unread = ""  # what is wrong with what a callback was given

    def add(self, ids: Any, logits: Any = None) -> None:
        """A state, ids [B, T], and the logits [B, T, vocabulary] it was decided by, if there are any."""
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
        self.add(x, logits)
        return x

    def diffusers(self, pipe: Any, step: int, timestep: Any, inputs: dict[str, Any]) -> dict[str, Any]:
        """`callback_on_step_end`: `block_x` is everything up to the end of the present block, `sampled_probs` and
        `active_block` are of that block alone: what was predicted there, and what was masked before the step."""
        if "block_x" not in inputs:
            return self._cannot(unreadable(pipe, inputs), inputs)
        rows = inputs["block_x"].tolist()
        if not self.states:
            masked = inputs["active_block"].tolist() if "active_block" in inputs else [None] * len(rows)
            if "active_block" not in inputs and self.prompt_length is None:
                return self._cannot(unreadable(pipe, inputs), inputs)
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
        return inputs

    def _before(self, row: list[int], masked: list[bool] | None) -> list[int]:
        """What a row was before the first step, in which nothing but masks is decided."""
        begin = len(row) - len(masked) if masked is not None else self.prompt_length or 0
        return [
            self.mask_id if i >= begin and (masked is None or masked[i - begin]) else token
            for i, token in enumerate(row)
        ]

    def _cannot(self, why: str, inputs: dict[str, Any]) -> dict[str, Any]:
        if not self.unread:
            self.unread = why
            warnings.warn(f"dard.trace.readers: {why}", stacklevel=3)
        return inputs

    @property
    def trace(self) -> Trace:
        return self.traces[0]

    @property
    def traces(self) -> list[Trace]:
        """One per row of the batch."""
        if self.unread or not self.states:
            raise InputError(self.unread or "no state was collected; was the callback given to the sampler?")
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
    if "block_x" in offered:
        return (
            f"callback_on_step_end was given {given}, and for the first time after the first step; give "
            f"callback_on_step_end_tensor_inputs={[name for name in Frames.TENSORS if name in offered]}"
            + ("" if "block_x" not in inputs else ", or tell Frames the prompt_length")
        )
    return (
        f"callback_on_step_end of {type(pipe).__name__} was given {given} and has no block_x, a canvas of tokens and "
        "masks, to offer; a canvas of noise cannot be collected yet"
    )


class TokenizerFile:
    """Words of a tokenizer.json, or of the folder that holds one; no model and no torch."""

    def __init__(self, path: str) -> None:
        from tokenizers import Tokenizer

        file = Path(path) / "tokenizer.json" if Path(path).is_dir() else Path(path)
        try:
            self.tokenizer = Tokenizer.from_file(str(file))
        except Exception as error:  # the tokenizers library raises bare Exceptions
            raise InputError(f"tokenizer {path!r} cannot be read: {str(error)[:200]}") from None

    def decode(self, ids: Sequence[int]) -> str:
        return self.tokenizer.decode(list(ids), skip_special_tokens=False)
