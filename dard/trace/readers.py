"""What other programs keep of a decode, as traces: lists of states, maps of steps; for callbacks see `callbacks`.

Promises: a file is read with bounds and never executed; what is missing is asked for by name, never guessed. Files:

| what | how it looks |
| --- | --- |
| a trace of ours | JSON with "format": "dard-trace" |
| states | a JSON list of lists of ids (or of lists of rows of ids, for a batch), the first before the first step |
| dllm's `histories` | the same under "histories" or "frames", or as `torch.save` wrote the list |
| Dream's `.history` | under "history": it begins after the first step, so `prompt_length` must be told |
| a map of steps | "step_map" and "tokens": the step each token was decided in; null: masked to the end, −1: given |
| what engines serve | responses with SGLang's step_maps, and JSON lines of steps: see `dard.trace.served` |

An object may also hold mask_id, words (texts by id), prompt_length, prompt_tokens (with a step_map), confidence, model,
name and eos_id. All but JSON's own types are refused.
"""

from __future__ import annotations

import io
import json
import pickle
import re
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dard.core.errors import InputError
from dard.trace import served
from dard.trace.callbacks import Frames as Frames
from dard.trace.callbacks import started
from dard.trace.format import read_bytes, unpacked
from dard.trace.frames import MAX_TOKEN, check_mask_id
from dard.trace.limits import LIBRARY, MAX_FILE_BYTES, MAX_STEPS, MAX_TOKEN_TEXT, TraceError
from dard.trace.trace import Trace

STATES = ("frames", "histories", "history")
MAX_IDS = 16_000_000  # in a file of tensors, which may claim more than it holds
MAX_ROWS = 1024


def trace_name(path: str | Path) -> str:
    """What a file of a decode is called: its name without the endings that such files have.

    >>> trace_name("runs/fast_generate_0.5.trace.json.gz")
    'fast_generate_0.5'
    """
    return re.sub(r"(\.trace)?(\.jsonl?|\.pt|\.pth)?(\.gz)?$", "", Path(path).name) or "trace"


def load(path: str | Path, **told: Any) -> list[Trace]:
    """The traces in a file, one per row of a batch; see `read`."""
    return read(read_bytes(path), **told)


def read(
    data: bytes,
    *,
    mask_id: int | None = None,
    words: Any = None,
    prompt_length: int | None = None,
    block_size: int | None = None,
) -> list[Trace]:
    """The traces in a file's bytes. What is told here goes before what the file says.

    >>> [trace] = read(b'{"frames": [[5, 0, 0], [5, 0, 7], [5, 6, 7]], "mask_id": 0}')
    >>> trace.prompt_tokens, [step.decided for step in trace.steps], trace.steps[0].confidence
    ([5], [[1], [0]], [None, None])
    """
    data = unpacked(data, LIBRARY)
    body = from_torch(data) if data[:4] == b"PK\x03\x04" else from_json(data)
    if isinstance(body, dict) and "format" in body:
        return [Trace.from_bytes(data)]
    told = {"mask_id": mask_id, "words": words, "prompt_length": prompt_length}
    several = body if isinstance(body, list) else [body]
    if served.are_steps(several):
        written = texts(next((line["words"] for line in several if "words" in line), None)) if words is None else words
        return served.from_steps(several, written, mask_id=mask_id)
    if served.are_responses(several):
        maps = [served.as_step_map(each, told | {"block_size": block_size}) for each in several]
        return [trace for each in maps for trace in read_body(each, told)]
    return read_body({"frames": body} if isinstance(body, list) else body, told)


def read_body(body: Any, told: Mapping[str, Any]) -> list[Trace]:
    """The traces in what a file holds, if that is states or a map of steps."""
    if not isinstance(body, dict) or not any(key in body for key in (*STATES, "step_map")):
        raise TraceError(f"the file is no trace, and holds none of {', '.join(STATES)} and step_map")
    body |= {name: value for name, value in told.items() if value is not None}
    if body.get("mask_id") is None:
        raise InputError("no mask id is known: the file names none; tell it (--mask-id, or mask_id=)")
    check_mask_id(body["mask_id"])
    more = {name: text(body, name) for name in ("model", "name")} | {"eos_id": body.get("eos_id")}
    if more["eos_id"] is not None and (type(more["eos_id"]) is not int or not 0 <= more["eos_id"] <= MAX_TOKEN):
        raise TraceError(f"eos_id = {str(more['eos_id'])[:20]!r} is not a token id")
    if told.get("words") is None:
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
    """What JSON says, or the list of what its lines say."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        pass
    try:
        return [json.loads(line) for line in data.splitlines() if line.strip()]
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
            ids = value.dtype in (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool)
            if room[0] < 0 or not ids or value.is_meta or value.layout != torch.strided:
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
