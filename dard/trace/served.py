"""What serving engines tell of a decode, as traces: a map of steps for each block, or lines of JSON, one for each step.

Promises: as the other readers do, nothing is guessed and everything is bounded; lines that do not follow from each
other are refused by their number. Knows the shapes only; `readers` asks it and reads the file.

| what | how it looks |
| --- | --- |
| SGLang's `step_maps` | a response with `output_ids` and, in `meta_info`, `step_maps`: from 1, anew in every block |
| steps of blocks | objects with `block` (its number, or where it begins), ids `before` and `after`, `probabilities` |
| what a patch of SGLang writes | `dllm_block_offset`, `block_token_ids`, `mask_fills`, `edits`, `proposals` |

A line may also hold `request` (which of several decodes it belongs to; `request_id` or `rid` will do), mask_id, name,
model, words and prompt_tokens (of which what stands before the first block is shown). A probability belongs to a
position of the block: that of the token it holds after the step, or of the best guess where it stays masked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dard.core.errors import InputError
from dard.trace.frames import MAX_SEQUENCE, Frame, checked
from dard.trace.limits import MAX_STEPS, TraceError
from dard.trace.trace import Trace

MAX_BLOCK = 8192
MAX_CELLS = 16_000_000  # states × positions of one decode
STEP = ("after", "block_token_ids", "mask_fills")  # a line of steps has one of them
REQUEST = ("request", "request_id", "rid")
SETTINGS = ("threshold", "edit_threshold", "max_post_edit_steps", "block_size")
BLOCKS = {156895: 32, 151669: 4}  # how long the blocks of LLaDA2 and SDAR are, known by their mask tokens
CHANGES = ("mask_fills", "edits", "remasks")


def are_steps(body: Any) -> bool:
    """Whether it is a list of steps of blocks."""
    return isinstance(body, list) and bool(body) and all(isinstance(line, dict) and holds(line, STEP) for line in body)


def are_responses(body: Any) -> bool:
    """Whether it is a list of an engine's responses."""
    return (
        isinstance(body, list) and bool(body) and all(isinstance(each, dict) and "meta_info" in each for each in body)
    )


def holds(line: Mapping[str, Any], names: Sequence[str]) -> bool:
    return any(name in line for name in names)


# A map of steps.


def as_step_map(response: Mapping[str, Any], told: Mapping[str, Any]) -> dict[str, Any]:
    """What a response says, as `readers` reads a map of steps: with one count for all blocks. How long a block is and
    where the prompt ends, which tells where blocks begin, are in the response, or told, or asked for.

    >>> response = {"output_ids": [7, 8, 9], "meta_info": {"step_maps": [1, 2, 1], "prompt_tokens": 2}}
    >>> as_step_map(response, {"block_size": 4, "mask_id": 0})["step_map"]
    [1, 2, 3]
    """
    meta = response["meta_info"]
    if not isinstance(meta, dict) or "step_maps" not in meta:
        raise TraceError("a response has no step_maps in its meta_info; ask the engine for them (return_step_maps)")
    steps, known = meta["step_maps"], {**response, **{name: value for name, value in told.items() if value is not None}}
    prompt = next((ids for name in ("prompt_tokens", "input_ids") if isinstance(ids := response.get(name), list)), [])
    if not isinstance(steps, list) or any(type(step) is not int or not 1 <= step <= MAX_STEPS for step in steps):
        raise TraceError(f"step_maps is not a list of steps, each from 1 to {MAX_STEPS}")
    mask_id = known.get("mask_id")
    size = known.get("block_size", BLOCKS.get(mask_id) if type(mask_id) is int else None)
    if size is None:
        raise InputError("step_maps count anew in every block; tell how long a block is (--block-size, or block_size)")
    length = next(
        (n for n in (known.get("prompt_length"), len(prompt) or None) if n is not None), meta.get("prompt_tokens")
    )
    if length is None:
        raise InputError(
            "step_maps count anew in every block, and blocks begin with the prompt; tell where the prompt ends "
            "(--prompt-length, or prompt_length)"
        )
    if type(length) is not int or not 0 <= length <= MAX_SEQUENCE:
        raise InputError(f"prompt_length = {str(length)[:20]!r} is not allowed; it must be from 0 to {MAX_SEQUENCE}")
    counted = count_on(steps, block_size(size), length)
    more = {name: response[name] for name in ("mask_id", "words", "model", "name", "eos_id") if name in response}
    return {"step_map": counted, "tokens": response.get("output_ids"), "prompt_tokens": prompt, **more}


def block_size(size: Any) -> int:
    if type(size) is not int or not 1 <= size <= MAX_BLOCK:
        raise InputError(f"block_size = {str(size)[:20]!r} is not allowed; it must be from 1 to {MAX_BLOCK}")
    return size


def count_on(steps: Sequence[int], size: int, prompt_length: int) -> list[int]:
    """Steps that count anew in every block, with one count; the prompt's tail shares a block with the first ones."""
    counted: list[int] = []
    block: list[int] = []
    done = 0
    for place, step in enumerate(steps, prompt_length):
        if place % size == 0:
            done, block = done + max(block, default=0), []
        block.append(step)
        counted.append(done + step)
    return counted


# Lines of steps.


@dataclass
class Block:
    """One of a request's blocks: what it began with, and what it holds now."""

    first: list[Any]
    now: list[Any]


def from_steps(lines: Sequence[Mapping[str, Any]], words: Any = None, **told: Any) -> list[Trace]:
    """A trace per request, in the order in which they begin.

    >>> line = {"block": 0, "mask_id": 0, "before": [5, 0, 0], "after": [5, 0, 7], "probabilities": [1, 0.2, 0.9]}
    >>> [trace] = from_steps([line, {"block": 0, "before": [5, 0, 7], "after": [5, 6, 7]}])
    >>> trace.prompt_tokens, [step.decided for step in trace.steps], trace.steps[0].confidence
    ([5], [[1], [0]], [0.2, 0.9])
    """
    requests: dict[str, list[tuple[int, Mapping[str, Any]]]] = {}
    for number, line in enumerate(lines, 1):
        requests.setdefault(request_of(line), []).append((number, line))
    mask_id = told.get("mask_id")
    mask_id = mask_of(lines) if mask_id is None else mask_id
    return [decode_of(name, own, mask_id, words) for name, own in requests.items()]


def request_of(line: Mapping[str, Any]) -> str:
    """The name of the decode that a line belongs to."""
    named = next((line[name] for name in REQUEST if line.get(name) is not None), None)
    if named is None:
        named = "-".join(str(line[name])[:40] for name in ("run_id", "batch_index") if name in line)
    return str(named)[:100]


def mask_of(lines: Sequence[Mapping[str, Any]]) -> Any:
    """The mask token, as a line names it, or as what was filled held before."""
    for line in lines:
        if line.get("mask_id") is not None:
            return line["mask_id"]
        for change in listed(line, "mask_fills"):
            return change.get("old_token_id")
    raise InputError("no mask id is known: no line names one; tell it (--mask-id, or mask_id=)")


def decode_of(name: str, lines: Sequence[tuple[int, Mapping[str, Any]]], mask_id: Any, words: Any) -> Trace:
    """The trace of one request."""
    blocks: dict[int, Block] = {}
    made: list[tuple[int, list[Any], dict[int, Any]]] = []  # the block of a step, its ids after it, numbers by place
    for number, line in lines:
        where = place_of(number, line)
        before, after = ids_of(number, line, blocks.get(where))
        block = blocks.setdefault(where, Block(before, before))
        if before != block.now or len(after) != len(before):
            raise TraceError(f"line {number}: block {where} begins with other ids than the line before it left")
        block.now = after
        made.append((where, after, numbers_of(number, line, len(after))))
    first = lines[0][1]
    order = sorted(blocks)
    size = len(blocks[order[0]].first)
    begins, prefix = {}, prompt_before([line for _, line in lines], order[0], size)
    canvas = list(prefix)
    for where in order:
        begins[where] = len(canvas)
        canvas += blocks[where].first
    if len(canvas) * len(made) > MAX_CELLS:
        raise TraceError(f"{len(made)} steps over {len(canvas)} positions are too many for one trace")
    frames, measured = [list(canvas)], []
    for where, after, numbers in made:
        begin = begins[where]
        canvas[begin : begin + len(after)] = after
        frames.append(list(canvas))
        measured.append([numbers.get(place - begin) for place in range(len(canvas))])
    read = [Frame(*each) for each in checked(frames, measured)]
    for frame, (where, after, _) in zip(read[1:], made, strict=True):
        frame.block = (begins[where], begins[where] + len(after))
    settings = {key: first[key] for key in SETTINGS if type(first.get(key)) in (int, float)}
    title, model = (first[key] if isinstance(first.get(key), str) else "" for key in ("name", "model"))
    title = ", ".join(each for each in (title, name) if each)
    return Trace.of_frames(read, mask_id, words, name=title, model=model, settings=settings)


def place_of(number: int, line: Mapping[str, Any]) -> int:
    """By what the blocks of a request are put in order."""
    where = next((line[key] for key in ("dllm_block_offset", "offset", "block") if line.get(key) is not None), None)
    if type(where) is not int or not 0 <= where <= MAX_SEQUENCE:
        raise TraceError(f"line {number} does not say which block it is of; block is a number from 0 to {MAX_SEQUENCE}")
    return where


def prompt_before(lines: Sequence[Mapping[str, Any]], where: int, size: int) -> list[Any]:
    """The part of the prompt that stands before the first block, if a line tells of it. Its end is in that block, so
    that a number of a block that would begin later is where it begins."""
    told = (line["prompt_tokens"] for line in lines if isinstance(line.get("prompt_tokens"), list))
    prompt: list[Any] = next(told, [])
    counted = not holds(lines[0], ("dllm_block_offset", "offset")) and where * size <= len(prompt)
    return prompt[: where * size if counted else where]


def ids_of(number: int, line: Mapping[str, Any], block: Block | None) -> tuple[list[Any], list[Any]]:
    """What a block held before a step and what after it, of which a line may leave out what follows from the others."""
    before = line.get("before", line.get("block_token_ids_before"))
    if before is None and block is not None:
        before = block.now
    after = line.get("after", line.get("block_token_ids"))
    if before is None and after is not None and holds(line, CHANGES):
        before = [*after] if isinstance(after, list) else after
        apply(number, line, before, "old_token_id")
    if not isinstance(before, list) or not 1 <= len(before) <= MAX_BLOCK:
        raise TraceError(f"line {number} does not say what its block held before: up to {MAX_BLOCK} ids are needed")
    if after is None:
        after = [*before]
        apply(number, line, after, "new_token_id")
    if not isinstance(after, list):
        raise TraceError(f"line {number} does not say what its block held after: a list of ids is needed")
    return before, after


def apply(number: int, line: Mapping[str, Any], ids: Any, key: str) -> None:
    for name in CHANGES:
        for change in listed(line, name):
            place = change.get("block_offset")
            if not isinstance(ids, list) or type(place) is not int or not 0 <= place < len(ids):
                raise TraceError(f"line {number}: {name} holds a block_offset {str(place)[:20]!r} outside the block")
            ids[place] = change.get(key)


def numbers_of(number: int, line: Mapping[str, Any], size: int) -> dict[int, Any]:
    """Probabilities by the place in the block."""
    given = line.get("probabilities")
    if given is not None:
        if not isinstance(given, list) or len(given) != size:
            raise TraceError(f"line {number}: probabilities is not a list of {size}, one for each position")
        return dict(enumerate(given))
    found: list[tuple[Any, Any]] = []
    for each in listed(line, "proposals"):
        held = each.get("proposal_type") == "t2t" and not each.get("accepted_update")
        found.append((each.get("block_offset"), each.get("p_old" if held else "p_new")))
    for name in CHANGES:
        found += [(change.get("block_offset"), change.get("prob")) for change in listed(line, name)]
    if any(type(place) is not int or not 0 <= place < size for place, _ in found):
        raise TraceError(f"line {number} has probabilities of positions that are not in its block of {size}")
    return dict(found)


def listed(line: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    """The objects in a list of a line."""
    value = line.get(name) or []
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        raise TraceError(f"{name} is not a list of objects")
    return value
