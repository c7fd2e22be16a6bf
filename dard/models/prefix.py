"""The keys and values of a prompt, computed once per block and kept for the block's other passes (paper, appendix).

What is kept is named by everything it was computed from: the length of the prefix, and every token, soft input,
position and mask entry of the opening pass. So it is never met by another prompt, block, decoder or edit, and keeping
it only saves time: an answer is the same whether its prefix was found or had to be computed again. A `PrefixCache`
belongs to one network, holds a bounded number of bytes, and may be used by several threads. It does not notice that
weights change.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from typing import Any

import numpy as np
from torch import Tensor
from transformers import DynamicCache

from dard.models.base import Question
from dard.models.forward import forward

ROOM = 2 << 30  # bytes; 4096 tokens of LLaDA-8B in bfloat16

Layers = list[tuple[Tensor, Tensor]]  # keys and values [1, heads, length, width] of each layer


class PrefixCache:
    """The prefixes of one network that were used last."""

    def __init__(self, room: int = ROOM) -> None:
        self.room = room
        self._used = 0
        self._kept: OrderedDict[bytes, Layers] = OrderedDict()
        self._lock = threading.Lock()

    def answer(self, body: Any, question: Question) -> tuple[Tensor, Tensor | None]:
        """What `body` gives out at the rows of a question with a frozen prefix, [R, width], and its attention."""
        assert question.frozen is not None
        length, opening = question.frozen.length, question.frozen.opening
        if opening is None:
            hidden, attention, _ = self._open(body, question, length)
            return hidden[question.rows.to(hidden.device)], attention
        rows = question.rows - length
        assert bool((rows >= 0).all()), "a row of a frozen prefix is not there to be read"
        layers = self._find(name_of(opening, length)) or self._open(body, opening, length)[2]
        hidden, attention = forward_one(body, question, length, DynamicCache(layers))
        return hidden[rows.to(hidden.device)], attention

    def _open(self, body: Any, question: Question, length: int) -> tuple[Tensor, Tensor | None, Layers]:
        """The opening pass, over everything; its prefix is kept."""
        cache = DynamicCache()
        hidden, attention = forward_one(body, question, 0, cache)
        # Copies: a view would hold on to the rest of the sequence. What was rotated may still be in float32.
        own = {"dtype": body.dtype, "copy": True}
        layers = [(each.keys[:, :, :length].to(**own), each.values[:, :, :length].to(**own)) for each in cache.layers]
        self._keep(name_of(question, length), layers)
        return hidden, attention, layers

    def _find(self, name: bytes) -> Layers | None:
        with self._lock:
            if name in self._kept:
                self._kept.move_to_end(name)
            return self._kept.get(name)

    def _keep(self, name: bytes, layers: Layers) -> None:
        """Keep a prefix; those unused for longest make room. The newest stays, whatever its size: it is in use."""
        with self._lock:
            if name not in self._kept:
                self._kept[name] = layers
                self._used += size_of(layers)
            self._kept.move_to_end(name)
            while self._used > self.room and len(self._kept) > 1:
                self._used -= size_of(self._kept.popitem(last=False)[1])


def forward_one(body: Any, question: Question, start: int, cache: DynamicCache) -> tuple[Tensor, Tensor | None]:
    """One pass over the rows from `start` on, whose keys follow those in `cache`: last hidden states and attention."""
    ids, positions, mask = question.ids[None], question.positions[None], question.mask[None, None]
    hidden, attention = forward(body, [question], ids, positions, mask, start, past_key_values=cache, use_cache=True)
    return hidden[0], attention[0]


def name_of(opening: Question, length: int) -> bytes:
    """A name for the first `length` keys and values of a pass; which rows are read has no part in it."""
    soft = opening.soft
    mixes = [] if soft is None else [soft.positions, soft.ids, soft.weights.double()]
    name = hashlib.sha256(f"{length} {len(opening.ids)} {[list(part.shape) for part in mixes]} ".encode())
    for part in (opening.ids, opening.positions, *mixes):
        name.update(part.cpu().numpy().tobytes())
    name.update(np.packbits(opening.mask.numpy()).tobytes())
    return name.digest()


def size_of(layers: Layers) -> int:
    return sum(kept.numel() * kept.element_size() for pair in layers for kept in pair)
