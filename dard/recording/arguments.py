"""What a network was called with, its token ids among all else, and what it says of itself.

Does not know: hooks, or what is recorded.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

IDS = ("decoder_input_ids", "input_ids", "x", "ids", "tokens", "token_ids", "input_tokens", "input", "inputs", "idx")
NOT_IDS = re.compile("mask|position|type|label|time|step|len|seq_id")  # of other whole numbers a pass may be given


def parameters(forward: Callable[..., Any]) -> list[str]:
    """The names of what `forward` takes by position, as far as it says so."""
    try:
        known = inspect.signature(forward).parameters.values()
    except (TypeError, ValueError):
        return []
    return [each.name for each in known if each.kind == each.POSITIONAL_OR_KEYWORD]


def token_ids(args: Sequence[Any], kwargs: Mapping[str, Any], names: Sequence[str] = ()) -> Tensor | None:
    """The ids a pass was given, [B, T]: by a usual name, or the first whole numbers that are nothing else by name.

    >>> ids, mask = torch.tensor([[7, 8]]), torch.tensor([[1, 1]])
    >>> token_ids((None, mask), {"decoder_input_ids": ids}, ["input_ids", "attention_mask"]) is ids
    True
    """
    if args and isinstance(args[0], Mapping):
        args, kwargs = args[1:], {**args[0], **kwargs}
    by_place = {names[n] if n < len(names) else f"{n}th": value for n, value in enumerate(args)}
    given = by_place | dict(kwargs)
    order = [name for name in IDS if name in given] + [name for name in given if not NOT_IDS.search(name)]
    for value in (given[name] for name in order):
        if isinstance(value, Tensor) and value.dtype in (torch.int64, torch.int32) and value.dim() in (1, 2):
            return value if value.dim() == 2 else value[None]
    return None


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


def whole_canvas(ids: Tensor, canvas: Tensor | None) -> tuple[Tensor, int]:
    """The whole canvas that ids are a part of, and where they begin in it. `canvas`: that of the pass before."""
    for whole in (ids._base, canvas):
        if whole is None or whole.dim() != 2 or len(whole) != len(ids) or whole.dtype != ids.dtype:
            continue
        same = whole.untyped_storage().data_ptr() == ids.untyped_storage().data_ptr()
        alike = whole.stride(1) == ids.stride(1) == 1 and (len(ids) == 1 or whole.stride(0) == ids.stride(0))
        begin = int(ids.storage_offset() - whole.storage_offset())
        if same and alike and 0 <= begin <= whole.shape[1] - ids.shape[1]:
            return whole, begin
    return ids, 0


def model_name(config: Any, network: nn.Module) -> str:
    """The checkpoint's name; of a folder only its own name, for a trace may be handed on."""
    name = str(getattr(config, "_name_or_path", "") or type(network).__name__)
    return Path(name).name if len(Path(name).parts) > 2 else name


def end_id(tokenizer: Any, config: Any) -> int | None:
    end = getattr(tokenizer, "eos_token_id", None)
    end = getattr(config, "eos_token_id", None) if end is None else end
    end = end[0] if isinstance(end, list) and end else end
    return end if isinstance(end, int) else None


def layers_of(config: Any) -> int:
    named = (getattr(config, key, None) for key in ("num_hidden_layers", "n_layers", "n_layer"))
    return next((layers for layers in named if isinstance(layers, int) and 1 <= layers <= 255), 1)
