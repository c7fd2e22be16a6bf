"""Who made a revocation (not in the paper): the token whose absence, or presence, would have changed it most.

For every verdict that took a token back, each token it saw is hidden in turn, and each that the mask hid is shown to
it alone (`dard.analysis.causes`). The main influence is the largest change of the held token's probability. How well
attention, nearness and confidence foretell the effect of hiding a token is told by rank correlations within each
verdict. Under the bidirectional order every candidate sees every other one, so it tells what the confidence order
keeps out; a revocation was in vain if the run ended with that very token in its place.
"""

from __future__ import annotations

from collections.abc import Callable
from statistics import fmean
from typing import Any

from dard.analysis.swaps import authors
from dard.decoding.session import Session
from dard.experiments.base import Experiment, columns, part_of, signed
from dard.experiments.figures import Trace, kind_bars
from dard.experiments.points import Point
from dard.results.sweep import Row, Variant

KINDS = {"candidate": "#E69F00", "unmasked": "#0072B2", "given": "#666666"}
SIGNS = ("attention", "nearness", "confidence")


def revoked(p: Point) -> list[dict[str, Any]]:
    return [each for row in p.rows for each in row["revoked"]]


def kind_share(p: Point) -> float | None:
    """The share in % of revocations whose main influence is of the kind that the label names."""
    return 100 * fmean(each["kind"] == p.label for each in revoked(p)) if revoked(p) else None


def share_of(name: str, value: object = True) -> Callable[[Point], str]:
    return lambda p: part_of(sum(each[name] == value for each in revoked(p)), len(revoked(p)))


def correlation(sign: str) -> Callable[[Point], str]:
    """The mean over the revocations that have one."""

    def cell(p: Point) -> str:
        known = [each["rho"][sign] for each in revoked(p) if each["rho"][sign] is not None]
        return signed(fmean(known), 2) if known else "–"

    return cell


class Causes(Experiment):
    name = "causes"
    title = "Who made a revocation"
    paper = "nothing; there a verdict has no author"
    default_task = "sudoku-open"
    shows = (
        "which kind of token makes a revocation, and whether the order of candidates keeps misleading ones out of it"
    )
    record = True
    variants = [
        Variant(f"DARD, {order} order", "dard", {"tau_c": 0.4, "tau_u": 0.8, "ordering": order})
        for order in ("confidence", "bidirectional")
    ]
    columns = {
        **columns("Variant"),
        "Revocations": lambda p: str(len(revoked(p))),
        **{f"By {kind} (%)": share_of("kind", kind) for kind in KINDS},
        "Hidden (%)": share_of("hidden"),
        "Alone (%)": share_of("alone"),
        "Kept out (%)": share_of("kept_out"),
        "In vain (%)": share_of("in_vain"),
        **{f"ρ {sign}": correlation(sign) for sign in SIGNS},
    }
    caption = (
        "{task_title}, {model} ({samples} samples): every revocation by its main influence, the token whose hiding, or "
        "showing if the mask hid it, moves the held token's probability most. Hidden: the mask had hidden that one. "
        "Alone: exactly one visible token, hidden, would have left another state. Kept out: a candidate that the mask "
        "hid would have changed the verdict. In vain: the run ended with that very token there. ρ: rank correlation "
        "with the effect of hiding a visible token."
    )
    chart = ("", "share of revocations (%)", "The main influence on a revocation: {task_title}")
    layout = {"barmode": "stack"}

    def also(self, session: Session) -> Row:
        revoked = [authors(session, step, i) for step in session.steps if step.mask is not None for i in step.demoted]
        return {"revoked": revoked}

    def traces(self, points: list[Point]) -> list[Trace]:
        return kind_bars(points, KINDS, kind_share)
