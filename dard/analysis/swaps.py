"""What moved the verdicts of a finished decode: the author of a revocation, and what hidden candidates change.

Promises: every number is of a pass that was made again with one token hidden, shown or swapped; nothing is guessed.
Does not know: experiments, or how any of it is told.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import torch
from torch import Tensor

from dard.analysis.causes import at_step, attended_by, examine
from dard.analysis.ranks import rank_correlation
from dard.analysis.reach import contaminated
from dard.core.state import CANDIDATE
from dard.decoders.dard import Dard
from dard.decoding.session import Session
from dard.models.base import Model, Question, offers
from dard.trace import Step

KINDS = SEEN, DEEP, OWN, OUT_OF_REACH = "seen directly", "hidden, reached", "its own token", "hidden, out of reach"
LEVELS = (0.001, 0.01, 0.05, 0.1, 0.25)  # changes of confidence that are counted


def authors(session: Session, step: Step, position: int) -> dict[str, Any]:
    """Who made one revocation, and what would have foretold it."""
    *_, verdict = examine(session, step.index, position)
    main = max(verdict.causes, key=lambda cause: abs(cause.without - verdict.actual))
    hidings = [cause for cause in verdict.causes if not cause.shown]
    effects = [abs(cause.without - verdict.actual) for cause in hidings]
    before = at_step(session, step.index)
    looks = attended_by(before, position) if "attention" in offers(session.model) else {}
    signs = {
        "attention": [looks.get(cause.position, 0.0) for cause in hidings],
        "nearness": [-float(abs(cause.position - position)) for cause in hidings],
        "confidence": [1.0 if cause.position < 0 else step.confidence_before[cause.position] for cause in hidings],
    }
    return {
        "step": step.index,
        "position": position,
        "main": main.position,
        "effect": round(main.without - verdict.actual, 6),
        "kind": kind_of(step, main.position),
        "hidden": main.shown,
        "alone": len(verdict.deciding) == 1,
        "kept_out": any(cause.shown and cause.state != verdict.state for cause in verdict.causes),
        "in_vain": verdict.token == session.state.tokens[position],
        "rho": {name: rank_correlation(values, effects) for name, values in signs.items()},
    }


def kind_of(step: Step, place: int) -> str:
    if place < 0 or step.fixed[place]:
        return "given"
    return "candidate" if step.states_before[place] == CANDIDATE else "unmasked"


@dataclass(frozen=True)
class Change:
    """Swapping `candidate` moved the confidence of the verification of `position` by `amount`."""

    kind: str
    position: int
    candidate: int
    amount: float
    verdict: bool  # whether the position would have gone to another state


def swap_all(session: Session) -> dict[str, Any]:
    """What swapping every candidate at every step of a recorded decode changes."""
    verifying = [number for number, step in enumerate(session.steps) if step.mask is not None]  # not the commit phase
    every = [change for number in verifying for change in swaps(session, number)]
    return {
        "verifications": sum(len(session.at(number).state.free("CU")) for number in verifying),
        "reachable": sum(len({one.position for one in contaminated(session.steps[number])}) for number in verifying),
        "kinds": {kind: tally([change for change in every if change.kind == kind]) for kind in KINDS},
    }


def tally(changes: Sequence[Change]) -> dict[str, Any]:
    amounts = [change.amount for change in changes]
    return {
        "pairs": len(changes),
        "sum": round(sum(amounts), 9),
        "largest": max(amounts, default=0.0),
        "verdicts": sum(change.verdict for change in changes),
        "over": [sum(amount > level for amount in amounts) for level in LEVELS],
    }


def swaps(session: Session, number: int) -> list[Change]:
    """The changes of all verifications of a step (they count from 0) under every single swap.

    Each candidate's token is swapped for its second choice (the likeliest other token by its own verification in the
    same pass), and the forward pass is made again.
    """
    model, decoder, settings = session.model, session.decoder, cast(Any, session.settings)
    state, step = session.at(number).state, session.steps[number]
    assert isinstance(decoder, Dard) and step.mask is not None
    held = state.free("CU")
    candidates = [i for i in held if state.states[i] == CANDIDATE]
    if not candidates:
        return []
    question = decoder.ask(model, settings, state)
    verifiers = replace(question, rows=question.rows[len(question.rows) - len(held) :])
    tokens = torch.tensor([state.tokens[i] for i in held])
    reached = {(one.position, one.candidate) for one in contaminated(step)}
    start, end = step.block
    changes = []
    before = probabilities(model, verifiers)
    own = before.gather(1, tokens[:, None])[:, 0]
    for j in candidates:
        second = before[held.index(j)].clone()
        second[state.tokens[j]] = -1
        ids = verifiers.ids.clone()
        ids[len(state.prompt) + j] = int(second.argmax())
        after = probabilities(model, replace(verifiers, ids=ids)).gather(1, tokens[:, None])[:, 0]
        for i, old, new in zip(held, own.tolist(), after.tolist(), strict=True):
            if step.mask[end - start + i - start, j - start]:
                kind = SEEN
            elif (i, j) in reached:
                kind = OWN if i == j else DEEP
            else:
                kind = OUT_OF_REACH
            verdict = decoder.state_of(settings, old) != decoder.state_of(settings, new)
            changes.append(Change(kind, i, j, abs(new - old), verdict))
    return changes


def probabilities(model: Model, question: Question) -> Tensor:
    """What the verifiers think of every token, [R, vocab]; `[MASK]` itself is never a candidate.

    One pass for one question: passes of the same shape are equal to the last bit where nothing has changed.
    """
    logits = model.logits(question.ids, question.positions, question.mask, question.rows).cpu()
    logits[:, model.mask_id] = -torch.inf
    return torch.softmax(logits, dim=-1)
