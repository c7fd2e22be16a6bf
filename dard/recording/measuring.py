"""One recorded forward pass, and the numbers that are read off it before its logits are let go.

Promises: logits are looked at on their device, a few rows at a time; what was written over since is not measured.
Does not know: hooks, the sampler, or what becomes of the numbers.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dard.decoders.predict import SLICE_VALUES, top_values
from dard.trace.limits import TOP_K

Guess = tuple[list[int], list[int], list[list[int]], list[list[float]]]  # rows, places, top ids, their probabilities


@dataclass
class Pass:
    """One forward pass. `state` [B, T] is what it was given, `canvas` the same tensor as the sampler holds it; the pass
    covered the places from `begin` on, `width` of them. `shadow` is where the tail of the pass repeats: (place, count).
    `logits` are there until the next pass; `version` tells whether someone has written into them since.
    `shift`: a prediction stands one place to the left."""

    state: Tensor
    canvas: Tensor
    begin: int
    width: int
    shadow: tuple[int, int] = (0, 0)
    mask: Tensor | None = None
    shift: bool = False
    began: float = field(default_factory=time.perf_counter)
    answered: float | None = None
    ended: float | None = None
    logits: Tensor | None = None
    version: int | None = None
    tops: dict[str, Guess] = field(default_factory=dict)
    confidence: list[tuple[int, int, float]] = field(default_factory=list)  # row, place, probability


def text_rows(one: Pass, places: Tensor) -> Tensor:
    """Where in a pass's logits the prediction of a place stands. Dream's sampler reads the first row twice."""
    return (places - one.begin - int(one.shift)).clamp(min=0)


def guess(one: Pass, wanted: Tensor, row_of: Any) -> Guess:
    """The most probable tokens at the wanted places that the pass covered."""
    assert one.logits is not None
    rows, places = covered(one, wanted, row_of is shadow_rows)
    ids, probabilities = top_guesses(one.logits, rows, row_of(one, places))
    return rows.tolist(), places.tolist(), ids.tolist(), probabilities.tolist()


def measure(one: Pass, after: Tensor, mask_id: int) -> list[tuple[int, int, float]]:
    """The probability that a pass gave to what was decided in it, and a shadow's to what was revoked."""
    after = after[:, : one.state.shape[1]]
    moved = one.state != after
    confidence = probabilities_of(one, "x", moved & (after != mask_id), after, text_rows)
    if one.shadow[1] and not one.shift:
        confidence += probabilities_of(one, "s", moved & (after == mask_id), one.state, shadow_rows)
    return confidence


def probabilities_of(one: Pass, path: str, wanted: Tensor, tokens: Tensor, row_of: Any) -> list[tuple[int, int, float]]:
    rows, places = covered(one, wanted, row_of is shadow_rows)
    chosen = tokens[rows, places]
    if one.logits is not None and (one.version is None or one.logits._version == one.version):
        logits = one.logits[rows, row_of(one, places)].float()
        values = (logits.gather(1, chosen[:, None])[:, 0] - logits.logsumexp(-1)).exp().clamp(max=1)
        return list(zip(rows.tolist(), places.tolist(), values.tolist(), strict=True))
    # Written over since, or gone: what is left is what was noted of it.
    known = {
        (row, place): dict(zip(ids, p, strict=True)) for row, place, ids, p in zip(*one.tops.get(path, ()), strict=True)
    }
    wanted_tokens = zip(rows.tolist(), places.tolist(), chosen.tolist(), strict=True)
    return [(row, place, known[row, place][t]) for row, place, t in wanted_tokens if t in known.get((row, place), {})]


def logits_of(output: Any) -> Tensor | None:
    """The logits in whatever a network returned, [B, T, vocabulary]."""
    logits = output
    for name in ("logits", "prediction_logits"):
        if (named := output.get(name) if isinstance(output, Mapping) else getattr(output, name, None)) is not None:
            logits = named
            break
    logits = logits[0] if isinstance(logits, tuple | list) and logits else logits
    if not isinstance(logits, Tensor):
        return None
    return logits[None] if logits.dim() == 2 else logits


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
