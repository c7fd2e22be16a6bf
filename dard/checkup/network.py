"""The network under explicit masks: what must hold of any network, trained or not.

Promises: each rule is tried on the weights at hand, in the type they were loaded in.
Does not know: which network it is. What a model was trained to see, it goes by.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention
from torch.overrides import TorchFunctionMode

from dard.checkup.report import Mark, Notes
from dard.models.base import Model, Question, answer_all

SIZE = 12  # tokens of a question: short, so that what sees near positions only sees all of them
EXACT = {torch.float32: 1e-3, torch.bfloat16: 0.12, torch.float16: 0.02}  # of the logits' own spread
MOVED = 1e-3  # likewise: below it nothing has moved


def question(model: Model, seed: int = 0, size: int | None = None) -> Question:
    """Random tokens and some masks, of one block if there are blocks, where everything sees everything."""
    size = size or min(SIZE, getattr(model, "block_size", None) or SIZE, model.max_length)
    ids = tokens(model, seed, size)
    ids[size // 3 :: 4] = model.mask_id
    everything = torch.ones(size, size, dtype=torch.bool)
    return Question(ids, torch.arange(size), everything, torch.arange(size))


def tokens(model: Model, seed: int, count: int) -> Tensor:
    """Tokens that are no marks, all different where there are enough of them."""
    special = {*getattr(model, "special_ids", ()), model.mask_id, *getattr(model, "end_ids", ()), model.eos_id}
    tokenizer = getattr(model, "tokenizer", None)
    known = model.vocab_size if tokenizer is None else min(len(tokenizer), model.vocab_size)
    plain = torch.tensor([token for token in range(min(known, 50_000)) if token not in special])
    order = torch.randperm(len(plain), generator=torch.Generator().manual_seed(seed))
    return plain[order[torch.arange(count) % len(order)]].clone()


def logits(model: Model, asked: Question) -> Tensor:
    return answer_all(model, [asked])[0].logits.cpu()


def apart(one: Tensor, other: Tensor) -> float:
    """The largest difference, as a share of the spread of the logits."""
    spread = float(one[torch.isfinite(one)].std()) if torch.isfinite(one).any() else 0.0
    difference = float((one - other).abs().max())
    return difference / spread if spread > 0 else (0.0 if difference == 0 else float("inf"))


def tolerance(model: Model) -> float:
    network: Any = getattr(model, "network", None)
    return EXACT.get(getattr(network, "dtype", torch.float32), EXACT[torch.float32])


class WithoutMask(TorchFunctionMode):
    """Attention that is told of no mask where the mask hides nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.dropped = 0

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if func is scaled_dot_product_attention:
            mask = kwargs.get("attn_mask", args[3] if len(args) > 3 else None)
            if mask is not None and bool((mask if mask.dtype == torch.bool else mask == 0).all()):
                args, kwargs["attn_mask"] = args[:3], None
                kwargs["is_causal"] = False
                self.dropped += 1
        return func(*args, **kwargs)


def under_masks(notes: Notes, model: Model) -> None:
    """The rules, each with a line."""
    asked, limit = question(model), tolerance(model)
    plain = logits(model, asked)
    if not bool(torch.isfinite(plain).all()):
        notes.add("skipped", "masks", "No rule about masks can be tried on numbers that are not finite.")
        return
    everything_visible(notes, model, asked, plain, limit)
    in_company(notes, model, asked, plain, limit)
    hidden_key(notes, model, asked, plain, limit)
    positions_matter(notes, model, asked, plain)


def everything_visible(notes: Notes, model: Model, asked: Question, plain: Tensor, limit: float) -> None:
    """A mask that hides nothing is no mask."""
    if getattr(model, "network", None) is None:
        notes.add("skipped", "no mask", "This model has no network of transformers to be asked without a mask.")
        return
    with WithoutMask() as without:
        bare = logits(model, asked)
    found, layers = apart(plain, bare), without.dropped
    if layers < model.num_layers:
        told = f"{model.num_layers - layers} of {model.num_layers} layers hide something where everything is visible"
        notes.add("fail", "no mask", f"{told}: the network was built to look one way.", layers=layers)
    elif found > limit:
        told = f"Under a mask that hides nothing logits are up to {found:.3f} of their spread from those without one."
        notes.add("fail", "no mask", told, apart=found)
    else:
        notes.add("ok", "no mask", f"Everything visible equals no mask (apart by {found:.1e}).", apart=found)


def in_company(notes: Notes, model: Model, asked: Question, plain: Tensor, limit: float) -> None:
    """Alone equals in company, where shorter questions are padded."""
    size = len(asked.ids)
    longer = min(size + 5, model.max_length)
    company = [question(model, 1, longer), asked, question(model, 2, max(1, size - 2))]
    found = apart(plain, answer_all(model, company)[1].logits.cpu())
    together = "batch" in getattr(model, "offers", ())
    if found > limit:
        told = f"Beside a longer question the same logits are off by {found:.3f} of their spread: padding is seen."
        notes.add("fail", "company", told, apart=found)
    else:
        how = "in company" if together else "one after the other"
        notes.add("ok", "company", f"Alone equals {how} (apart by {found:.1e}).", apart=found)


def hidden_key(notes: Notes, model: Model, asked: Question, plain: Tensor, limit: float) -> None:
    """What nobody may see moves nothing; what they may see does."""
    size = len(asked.ids)
    key = next(i for i in range(size // 2, size) if int(asked.ids[i]) != model.mask_id)
    others = torch.tensor([row for row in range(size) if row != key])
    mask = asked.mask.clone()
    mask[others, key] = False
    other = asked.ids.clone()
    other[key] = tokens(model, 3, size + 1)[-1]
    if int(other[key]) == int(asked.ids[key]):
        other[key] = asked.ids[0] if int(asked.ids[0]) != int(asked.ids[key]) else asked.ids[1]
    hidden = replace(asked, mask=mask, rows=others)
    stays = apart(logits(model, hidden), logits(model, replace(hidden, ids=other)))
    after = key + 1 if getattr(model, "shifted", False) else key  # what is read off the key's own row
    rows = [row for row in range(size) if row not in (key, after)]
    moves = apart(plain[rows], logits(model, replace(asked, ids=other))[rows])
    numbers = {"hidden": stays, "visible": moves}
    if stays > limit / 10:
        told = f"A token that is masked out moves logits by {stays:.3f} of their spread."
        notes.add("fail", "hidden key", told, **numbers)
    elif moves < MOVED:
        mark: Mark = "note" if getattr(model, "network", None) is None else "fail"  # a rule may look at some words only
        notes.add(mark, "hidden key", "A token that everybody sees moves no logit: nothing attends.", **numbers)
    else:
        told = f"A token that is masked out moves no logit; seen, it moves them by {moves:.2f} of their spread."
        notes.add("ok", "hidden key", told, **numbers)


def positions_matter(notes: Notes, model: Model, asked: Question, plain: Tensor) -> None:
    """The same tokens, the beginning of them put behind the end: every row but two follows the one it followed."""
    size = len(asked.ids)
    by = size // 2 or 1
    turned = torch.roll(asked.positions, by)
    rows = [row for row in range(1, size) if row != by]
    moved = apart(plain[rows], logits(model, replace(asked, positions=turned))[rows])
    if moved < MOVED:
        told = "The same tokens at other positions give the same logits: positions are not used."
        notes.add("note" if getattr(model, "network", None) is None else "fail", "positions", told, moved=moved)
    else:
        notes.add("ok", "positions", f"Positions matter: other ones move logits by {moved:.2f} of their spread.",
                  moved=moved)  # fmt: skip
