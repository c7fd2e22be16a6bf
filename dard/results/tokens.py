"""A decode told token by token: when each was committed for good, with which others, how sure, and how often not.

Promises: of every position that was to be filled.
Does not know: how an answer is judged; where the item's own answer has as many tokens, each is compared with its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dard.core.prompt import encode_prompt
from dard.decoding.session import Session
from dard.tasks import Item

UNMASKED = "U"
FIELDS = ("position", "token", "text", "step", "together", "nearest", "confidence", "revocations", "right")


def each_token(session: Session, item: Item) -> dict[str, list[Any]]:
    """Lists of equal length, one per field: `together` counts what was committed for good in the same pass, the token
    itself included, and `nearest` is the distance to the nearest of those."""
    trace, model = session.trace, session.model
    free = [position for position, given in enumerate(trace.fixed) if not given]
    committed: dict[int, int] = {}
    revoked = dict.fromkeys(free, 0)
    sure: dict[int, float | None] = {}
    before = trace.start.states
    for step in trace.steps:
        for position in free:
            now, then = step.states[position], before[position]
            if now == UNMASKED and (then != UNMASKED or position not in committed):
                committed[position], sure[position] = step.index, step.confidence[position]
            elif now != UNMASKED and then == UNMASKED:
                revoked[position] += 1
                committed.pop(position, None)
            elif now == "M" and then == "C":
                revoked[position] += 1
        before = step.states
    known = answer_of(session, item)
    rows = []
    for position in free:
        step_of = committed.get(position)
        others = [p for p, number in committed.items() if number == step_of and p != position] if step_of else []
        token = trace.tokens[position]
        rows.append(
            (
                position,
                token,
                model.token_text(token),
                step_of,
                len(others) + 1 if step_of else None,
                min((abs(p - position) for p in others), default=None),
                sure.get(position),
                revoked[position],
                None if known is None else known[position] == token,
            )
        )
    return {name: [row[n] for row in rows] for n, name in enumerate(FIELDS)}


def answer_of(session: Session, item: Item) -> Sequence[int] | None:
    """The tokens of the item's own answer in the places of the region, if it has one that fits."""
    if item.answer is None:
        return None
    model, size = session.model, len(session.state.tokens)
    if item.gen_length is None:  # a template's answer is the whole text
        ids = [*getattr(model, "prefix", ()), *encode_prompt(model, item.answer), *getattr(model, "suffix", ())]
        ids = ids[len(session.state.prompt) :]
        return ids if len(ids) == size else None
    ids = list(getattr(model, "encode_piece", model.encode)(item.answer))
    end = model.eos_id
    return [*ids, *[end] * (size - len(ids))] if len(ids) <= size and end is not None else None
