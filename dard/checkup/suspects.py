"""What may be wrong with a network that does not know its language: each is tried, and undone.

Promises: a model is left as it was found.
Does not know: how well a model does; who tries these, measures.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import torch
from torch import nn

BLOCKS = (4, 32)  # of block-causal models, as there are
BASES = (100.0, 1e3, 1e4, 5e4, 1e5, 5e5, 1e6, 1e7)  # of rotary positions, as networks have them


def suspects(model: Any) -> Iterator[tuple[str, AbstractContextManager[None]]]:
    """What would be different, in words that end "… than as it was loaded", and that difference."""
    if hasattr(model, "shifted"):
        ahead = "in place" if model.shifted else "one position ahead"
        yield f"read {ahead}", changed(model, "shifted", not model.shifted)
    network = getattr(model, "network", None)
    if network is None:
        return
    own = getattr(model, "block_size", None)
    if own:
        yield f"seeing beyond its blocks of {own}", changed(model, "block_size", None)
    elif hasattr(model, "pattern"):
        for size in BLOCKS:
            yield f"in blocks of {size} that see no later one", changed(model, "block_size", size)
    rotary = [module for module in network.modules() if isinstance(getattr(module, "inv_freq", None), torch.Tensor)]
    if rotary:
        now = base_of(rotary[0].inv_freq)
        for base in BASES:
            if now is not None and abs(base - now) > 0.01 * now:
                yield f"with a rotary base of {base:,.0f} in place of {now:,.0f}", with_base(rotary, base)
    pairs = [m for m in network.modules() if alike(getattr(m, "q_proj", None), getattr(m, "k_proj", None))]
    if pairs:
        yield "with queries and keys swapped", swapped(pairs)
    gated = [m for m in network.modules() if alike(getattr(m, "gate_proj", None), getattr(m, "up_proj", None))]
    if gated:
        yield "with the two halves of the gated layers swapped", swapped(gated, "gate_proj", "up_proj")


def base_of(frequencies: torch.Tensor) -> float | None:
    """The base of rotary frequencies, if they are the plain ones.

    >>> round(base_of(10000.0 ** -(torch.arange(0, 8, 2) / 8)))
    10000
    """
    if len(frequencies) < 2 or abs(float(frequencies[0]) - 1) > 1e-3:
        return None
    return float(frequencies[1].double()) ** -len(frequencies)


@contextmanager
def changed(owner: Any, name: str, value: Any) -> Iterator[None]:
    """An attribute with another value."""
    before = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)


@contextmanager
def with_base(rotary: list[nn.Module], base: float) -> Iterator[None]:
    """Rotary positions of another base."""
    before: list[Any] = [module.inv_freq for module in rotary]
    for module, own in zip(rotary, before, strict=True):
        steps = torch.arange(len(own), device=own.device, dtype=torch.float32) / len(own)
        module.inv_freq = (base**-steps).to(own.dtype)
    try:
        yield
    finally:
        for module, own in zip(rotary, before, strict=True):
            module.inv_freq = own


def alike(one: Any, other: Any) -> bool:
    weights = getattr(one, "weight", None), getattr(other, "weight", None)
    return all(isinstance(w, torch.Tensor) for w in weights) and weights[0].shape == weights[1].shape  # type: ignore[union-attr]


@contextmanager
def swapped(modules: list[nn.Module], first: str = "q_proj", second: str = "k_proj") -> Iterator[None]:
    """Two parts of modules, each in the other's place; the norms that follow them stay."""

    def swap() -> None:
        for module in modules:
            one, other = getattr(module, first), getattr(module, second)
            setattr(module, first, other)
            setattr(module, second, one)

    swap()
    try:
        yield
    finally:
        swap()
