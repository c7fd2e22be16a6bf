"""Does a hidden candidate change a verification (not in the paper, which writes "≈")?

The mask hides less reliable candidates from a verification in every single layer, yet through several layers they can
reach it (`dard.attention.contaminated`). At every step each candidate's token is swapped for its second choice (the
likeliest other token by its own verification in the same pass), the forward pass is made again, and the change of every
verification's confidence is measured. Swaps of candidates that a verification sees directly give the scale; those
that cannot reach it must change nothing, which is a test of the mask.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import torch
from torch import Tensor

from dard.attention import contaminated
from dard.decoders.dard import Dard
from dard.experiments.base import Experiment
from dard.experiments.figures import Figure, figure, kind_bars
from dard.experiments.points import Point, points
from dard.experiments.results import Results
from dard.experiments.sweep import Row
from dard.experiments.tables import Table, columns, percent
from dard.experiments.variants import Scope, Variant
from dard.models.base import Model, Question
from dard.session import Session
from dard.state import CANDIDATE

SEEN, OWN, DEEP, OUT_OF_REACH = "seen directly", "its own token", "hidden, reached", "hidden, out of reach"
COLOURS = {SEEN: "#009E73", DEEP: "#D55E00", OWN: "#CC79A7", OUT_OF_REACH: "#666666"}
LEVELS = (0.001, 0.01, 0.05, 0.1, 0.25)  # changes of confidence that are counted


@dataclass(frozen=True)
class Change:
    """Swapping `candidate` moved the confidence of the verification of `position` by `amount`."""

    kind: str
    position: int
    candidate: int
    amount: float
    verdict: bool  # whether the position would have gone to another state


class Contamination(Experiment):
    name = "contamination"
    title = "Verifications that hidden candidates reach through depth"
    paper = "not in it: there the mask is taken to hold through all layers"
    default_task = "sudoku-open"
    shows = "how often a hidden candidate can reach a verification, and how much that really changes it"
    record = True
    caption = (
        "{task_title}, {model} ({samples} samples): verifications of candidate and unmasked tokens, and those that at "
        "least one hidden candidate can reach through depth."
    )

    def grid(self, scope: Scope) -> list[Variant]:
        return [
            Variant("DARD, outside sees unmasked tokens", "dard", {"outside": "reliable"}),
            Variant("DARD, outside sees all tokens", "dard", {"outside": "all"}),
        ]

    def also(self, session: Session) -> Row:
        return swap_all(session)

    def tables(self, results: Results) -> list[Table]:
        often = {
            **columns("Variant"),
            "Verifications": lambda p: str(total(p, "verifications")),
            "Reachable": lambda p: str(total(p, "reachable")),
            "Share (%)": lambda p: share(total(p, "reachable"), total(p, "verifications")),
        }
        much = {
            **columns("Variant"),
            "Candidate is": lambda p: p.label,
            "Swaps": lambda p: str(pooled(p)["pairs"]),
            "Mean": lambda p: f"{pooled(p)['sum'] / pooled(p)['pairs']:.4f}",
            "Largest": lambda p: f"{pooled(p)['largest']:.4f}",
            **{f"> {level:g} (%)": over(n) for n, level in enumerate(LEVELS)},
            "Verdicts (%)": lambda p: share(pooled(p)["verdicts"], pooled(p)["pairs"]),
        }
        found = points(results)
        kinds = [Point(p.variant, p.rows, label=kind) for p in found for kind in COLOURS]
        return [
            Table.of(found, often, self.caption.format_map(results.header)),
            Table.of(
                [p for p in kinds if pooled(p)["pairs"]],
                much,
                "Change of a verification's confidence when a candidate is swapped for its second choice, by how the "
                "verification is related to the candidate. “Verdicts” are changes that move the token to another "
                "state.",
            ),
            *self.summary(results),
        ]

    def figure(self, results: Results) -> Figure:
        def changed(p: Point) -> float | None:
            return 100 * pooled(p)["over"][1] / pooled(p)["pairs"] if pooled(p)["pairs"] else None

        title = f"Swaps that change a verification by more than {LEVELS[1]:g}: {{task_title}}"
        return figure(
            results, kind_bars(points(results), COLOURS, changed), "", "share of swaps (%)", title, barmode="group"
        )


def total(p: Point, name: str) -> int:
    return sum(row[name] for row in p.rows)


def share(part: int, whole: int) -> str:
    return percent(part / whole) if whole else "–"


def over(n: int) -> Callable[[Point], str]:
    return lambda p: share(pooled(p)["over"][n], pooled(p)["pairs"])


def pooled(p: Point) -> dict[str, Any]:
    """The tallies of a point's kind over its samples."""
    tallies = [row["kinds"][p.label] for row in p.rows]
    return {
        **{name: sum(tally[name] for tally in tallies) for name in ("pairs", "sum", "verdicts")},
        "largest": max((tally["largest"] for tally in tallies), default=0.0),
        "over": [sum(tally["over"][n] for tally in tallies) for n in range(len(LEVELS))],
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


def swap_all(session: Session) -> Row:
    """What swapping every candidate at every step of a recorded decode changes."""
    verifying = [number for number, step in enumerate(session.steps) if step.mask is not None]  # not the commit phase
    found = [(number, change) for number in verifying for change in swaps(session, number)]
    deep = [(number, change) for number, change in found if change.kind == DEEP]
    worst = max(deep, key=lambda each: each[1].amount, default=None)
    return {
        "verifications": sum(len(session.at(number).state.free("CU")) for number in verifying),
        "reachable": sum(len({one.position for one in contaminated(session.steps[number])}) for number in verifying),
        "kinds": {kind: tally([change for _, change in found if change.kind == kind]) for kind in COLOURS},
        "worst": worst
        and {
            "step": session.steps[worst[0]].index,
            "position": worst[1].position,
            "candidate": worst[1].candidate,
            "change": worst[1].amount,
        },
    }


def swaps(session: Session, number: int) -> list[Change]:
    """The changes of all verifications of a step (they count from 0) under every single swap."""
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
    reached = {(found.position, found.candidate) for found in contaminated(step)}
    start, end = step.block
    found = []
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
            found.append(Change(kind, i, j, abs(new - old), verdict))
    return found


def probabilities(model: Model, question: Question) -> Tensor:
    """What the verifiers think of every token, [R, vocab]; `[MASK]` itself is never a candidate.

    One pass for one question: passes of the same shape are equal to the last bit where nothing has changed.
    """
    logits = model.logits(question.ids, question.positions, question.mask, question.rows).cpu()
    logits[:, model.mask_id] = -torch.inf
    return torch.softmax(logits, dim=-1)
