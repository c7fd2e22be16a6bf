"""Does a model know its language? Some tokens of a text are hidden, and it is counted how many it finds.

Promises: a model is asked as it was trained (its blocks, its shift, its frame), on the same tokens every time.
Does not know: decoders. The bounds were never calibrated on real weights, but for the embedded model's.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import torch
from torch import Tensor

from dard.checkup.texts import TEXTS
from dard.core.errors import UnknownWords
from dard.models.base import Model, Question, answer_all

HIDDEN = 0.15  # of the tokens
DRAWS = 2  # ways to choose them, per text
LONGEST = 160  # tokens of a text
AT_ONCE = 8  # questions in one pass
FEWEST = 200_000  # weights between embedding and head, below which a network is too small to know a language


@dataclass(frozen=True)
class Probe:
    """A text with some of its places to be hidden; `frame` tokens at either end are never among them."""

    text: str
    ids: tuple[int, ...]
    hidden: tuple[int, ...]


def probes(model: Model) -> list[Probe]:
    """Those of every text that the model can spell."""
    found: list[Probe] = []
    before, after = (list(getattr(model, side, ())) for side in ("prefix", "suffix"))
    room = min(LONGEST, model.max_length) - len(before) - len(after)
    for name, texts in TEXTS.items():
        for number, text in enumerate(texts):
            ids = spelled(model, text)
            if len(ids) < 5:
                continue
            ids = ids[:room]
            for draw in range(DRAWS):
                count = max(1, round(HIDDEN * len(ids)))
                chosen = random.Random(f"{name} {number} {draw}").sample(range(len(ids)), count)
                places = tuple(sorted(len(before) + place for place in chosen))
                found.append(Probe(name, (*before, *ids, *after), places))
    return found


def spelled(model: Model, text: str) -> list[int]:
    """Its tokens; none if there are words that the model does not know, or hardly more tokens than are all alike."""
    try:
        ids = list(getattr(model, "encode_piece", model.encode)(text))
    except UnknownWords:
        return []
    return ids if len(set(ids)) > 4 and model.mask_id not in ids else []


def questions(model: Model, probe: Probe, open_: Sequence[int], shuffled: bool) -> Iterator[tuple[Question, list[int]]]:
    """What to ask to have the open places predicted, and which of them each question is about: all of them together,
    or block by block, those before a block complete, where a model was trained so."""
    block = getattr(model, "block_size", None)
    spans = [range(0, len(probe.ids))] if block is None else [
        range(start, min(start + block, len(probe.ids))) for start in range(0, len(probe.ids), block)
    ]  # fmt: skip
    for span in spans:
        if here := [place for place in open_ if place in span]:
            ids = torch.tensor(probe.ids[: span.stop])
            ids[here] = model.mask_id
            size = len(ids)
            positions = torch.arange(size)
            if shuffled:
                positions = positions[torch.randperm(size, generator=torch.Generator().manual_seed(size))]
            yield Question(ids, positions, torch.ones(size, size, dtype=torch.bool), torch.tensor(here)), here


def predicted(model: Model, asked: Sequence[Question]) -> Iterator[Tensor]:
    """Probabilities of every token but the mask, at the rows of each question."""
    waiting = iter(asked)
    while group := list(islice(waiting, AT_ONCE)):
        for each in answer_all(model, group):
            logits = each.logits.float().cpu()
            logits[:, model.mask_id] = -torch.inf
            yield logits.softmax(-1)


def at_once(model: Model, these: Sequence[Probe], shuffled: bool = False) -> list[float]:
    """Share of the hidden tokens of each text that are the most probable in one pass."""
    parts = [(number, *each) for number, probe in enumerate(these)
             for each in questions(model, probe, probe.hidden, shuffled)]  # fmt: skip
    right = [0] * len(these)
    for (number, _, places), rows in zip(parts, predicted(model, [part[1] for part in parts]), strict=True):
        right[number] += sum(int(t) == these[number].ids[p] for t, p in zip(rows.argmax(-1), places, strict=True))
    return [count / len(probe.hidden) for count, probe in zip(right, these, strict=True)]


def one_by_one(model: Model, these: Sequence[Probe]) -> list[float]:
    """Share of the hidden tokens that are found when the surest is written down before the next is looked for."""
    texts = [list(probe.ids) for probe in these]
    open_ = [list(probe.hidden) for probe in these]
    while any(open_):
        parts = []
        for number, probe in enumerate(these):
            now = Probe(probe.text, tuple(texts[number]), probe.hidden)
            parts += [(number, *each) for each in islice(questions(model, now, open_[number], False), 1)]
        for (number, _, places), rows in zip(parts, predicted(model, [part[1] for part in parts]), strict=True):
            best = rows.max(-1)
            surest = int(best.values.argmax())
            texts[number][places[surest]] = int(best.indices[surest])
            open_[number].remove(places[surest])
    return [
        sum(text[place] == probe.ids[place] for place in probe.hidden) / len(probe.hidden)
        for text, probe in zip(texts, these, strict=True)
    ]


def mean(values: Sequence[float], these: Sequence[Probe], text: str | None = None) -> float:
    """Over hidden tokens, not over probes; of one text, if it is named."""
    pairs = zip(values, these, strict=True)
    chosen = [(value, len(probe.hidden)) for value, probe in pairs if text in (None, probe.text)]
    return sum(value * count for value, count in chosen) / max(1, sum(count for _, count in chosen))


def inner_weights(model: Model) -> int:
    """Weights between the embedding and the head; 0 for a model without a network."""
    network = getattr(model, "network", None)
    if network is None:
        return 0
    vocabulary = int(network.config.vocab_size)
    return sum(w.numel() for w in network.parameters() if vocabulary not in w.shape)
