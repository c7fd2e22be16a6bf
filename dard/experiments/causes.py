"""Who made a revocation (not in the paper): the token whose absence, or presence, would have changed it most.

For every verdict that took a token back, each token it saw is hidden in turn, and each that the mask hid is shown to
it alone (`dard.cause`). The main influence is the largest change of the held token's probability. How well attention,
nearness and confidence foretell the effect of hiding a token is told by rank correlations within each verdict. Under
the bidirectional order every candidate sees every other one, so it tells what the confidence order keeps out; a
revocation was in vain if the run ended with that very token in its place.
"""

from __future__ import annotations

from collections.abc import Callable
from statistics import fmean
from typing import Any

import numpy as np

from dard.cause import at_step, attended_by, examine
from dard.experiments.base import Experiment
from dard.experiments.figures import Figure, figure, kind_bars
from dard.experiments.points import Point, points
from dard.experiments.results import Results
from dard.experiments.sweep import Row
from dard.experiments.tables import Table, columns, percent
from dard.experiments.variants import Scope, Variant
from dard.models.base import offers
from dard.session import Session
from dard.state import CANDIDATE
from dard.trace import Step

KINDS = {"candidate": "#E69F00", "unmasked": "#0072B2", "given": "#666666"}
SIGNS = ("attention", "nearness", "confidence")
THRESHOLDS = {"tau_c": 0.4, "tau_u": 0.8}


class Causes(Experiment):
    name = "causes"
    title = "Who made a revocation"
    paper = "nothing; there a verdict has no author"
    default_task = "sudoku-open"
    shows = (
        "which kind of token makes a revocation, and whether the order of candidates keeps misleading ones out of it"
    )
    record = True
    caption = (
        "{task_title}, {model} ({samples} samples): every revocation by its main influence, the token whose hiding, or "
        "showing if the mask hid it, moves the held token's probability most. Hidden: the mask had hidden that one. "
        "Alone: exactly one visible token, hidden, would have left another state. Kept out: a candidate that the mask "
        "hid would have changed the verdict. In vain: the run ended with that very token there. ρ: rank correlation "
        "with the effect of hiding a visible token."
    )

    def grid(self, scope: Scope) -> list[Variant]:
        return [
            Variant(f"DARD, {order} order", "dard", {**THRESHOLDS, "ordering": order})
            for order in ("confidence", "bidirectional")
        ]

    def also(self, session: Session) -> Row:
        found = [authors(session, step, i) for step in session.steps if step.mask is not None for i in step.demoted]
        return {"revoked": found}

    def tables(self, results: Results) -> list[Table]:
        shown = {
            **columns("Variant"),
            "Revocations": lambda p: str(len(revoked(p))),
            **{f"By {kind} (%)": kind_share(kind) for kind in KINDS},
            "Hidden (%)": share_of("hidden"),
            "Alone (%)": share_of("alone"),
            "Kept out (%)": share_of("kept_out"),
            "In vain (%)": share_of("in_vain"),
            **{f"ρ {sign}": correlation(sign) for sign in SIGNS},
        }
        return [Table.of(points(results), shown, self.caption.format_map(results.header))]

    def figure(self, results: Results) -> Figure:
        def height(p: Point) -> float | None:
            return 100 * fmean(each["kind"] == p.label for each in revoked(p)) if revoked(p) else None

        title = "The main influence on a revocation: {task_title}"
        return figure(
            results, kind_bars(points(results), KINDS, height), "", "share of revocations (%)", title, barmode="stack"
        )


def revoked(p: Point) -> list[dict[str, Any]]:
    return [each for row in p.rows for each in row["revoked"]]


def share(values: list[bool]) -> str:
    return percent(fmean(values)) if values else "–"


def kind_share(kind: str) -> Callable[[Point], str]:
    return lambda p: share([each["kind"] == kind for each in revoked(p)])


def share_of(name: str) -> Callable[[Point], str]:
    return lambda p: share([each[name] for each in revoked(p)])


def correlation(sign: str) -> Callable[[Point], str]:
    """The mean over the revocations that have one."""

    def cell(p: Point) -> str:
        known = [each["rho"][sign] for each in revoked(p) if each["rho"][sign] is not None]
        return f"{fmean(known):+.2f}".replace("-", "−") if known else "–"

    return cell


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


def rank_correlation(values: list[float], others: list[float]) -> float | None:
    """Spearman's ρ; None where one side is all the same, or there are fewer than three.

    >>> rank_correlation([1, 2, 3, 4], [0.1, 0.2, 0.2, 0.9])
    0.9487
    """
    if len(values) < 3 or len(set(values)) == 1 or len(set(others)) == 1:
        return None
    return round(float(np.corrcoef(ranks(values), ranks(others))[0, 1]), 4)


def ranks(values: list[float]) -> list[float]:
    """Places from the smallest on; equal values share theirs."""
    ordered = sorted(values)
    return [ordered.index(value) + (ordered.count(value) - 1) / 2 for value in values]
