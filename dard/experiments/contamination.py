"""Does a hidden candidate change a verification (not in the paper, which writes "≈")?

The mask hides less reliable candidates from a verification in every single layer, yet through several layers they can
reach it (`dard.attention.contaminated`). At every step each candidate's token is swapped for its second choice (the
likeliest other token by its own verification in the same pass), the forward pass is made again, and the change of every
verification's confidence is measured. Swaps of candidates that a verification sees directly give the scale; those
that cannot reach it must change nothing, which is a test of the mask.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from dard.attention import contaminated
from dard.decoders.dard import Dard
from dard.experiments.base import Experiment, Figure, Job
from dard.experiments.decoding import open_sessions
from dard.experiments.figures import figure
from dard.experiments.results import Results, Row
from dard.experiments.tables import Table, percent
from dard.experiments.variants import Scope, Variant
from dard.models.base import Model, Question
from dard.session import Session
from dard.state import CANDIDATE, DecodeState
from dard.trace import Step

SEEN, OWN, DEEP, OUT_OF_REACH = "seen directly", "its own token", "hidden, reached", "hidden, out of reach"
KINDS = (SEEN, DEEP, OWN, OUT_OF_REACH)
COLOURS = {SEEN: "#009E73", DEEP: "#D55E00", OWN: "#CC79A7", OUT_OF_REACH: "#666666"}
LEVELS = (0.001, 0.01, 0.05, 0.1, 0.25)  # changes of confidence that are counted


@dataclass(frozen=True)
class Change:
    """Swapping `candidate` moved the confidence of the verification of `position` by `amount`."""

    kind: str
    position: int
    candidate: int
    layers: int  # the depth at which the candidate arrives; 0: never
    amount: float
    verdict: bool  # whether the position would have gone to another state


class Contamination(Experiment):
    name = "contamination"
    title = "Verifications that hidden candidates reach through depth"
    paper = "not in it: there the mask is taken to hold through all layers"
    default_task = "sudoku-open"
    shows = "how often a hidden candidate can reach a verification, and how much that really changes it"

    def grid(self, scope: Scope) -> list[Variant]:
        return [
            Variant("DARD, outside sees unmasked tokens", "dard", {"outside": "reliable"}),
            Variant("DARD, outside sees all tokens", "dard", {"outside": "all"}),
        ]

    def measure(self, job: Job, variant: Variant, samples: Sequence[int]) -> list[Row]:
        return [swap_all(job.model, session) for session in open_sessions(job, variant, samples, record=True)]

    def tables(self, results: Results) -> list[Table]:
        often = Table(
            f"{results.header['task_title']}, {results.header['model']} ({results.samples} samples): verifications of "
            "candidate and unmasked tokens, and those that at least one hidden candidate can reach through depth.",
            ["Variant", "Verifications", "Reachable", "Share (%)"],
            [reachable_row(variant.name, results.of(variant)) for variant in results.started()],
        )
        rows = []
        for variant in results.started():
            for kind in KINDS:
                found = pooled(results.of(variant), kind)
                if found["pairs"]:
                    rows.append([variant.name, kind, *change_cells(found)])
        much = Table(
            "Change of a verification's confidence when a candidate is swapped for its second choice, by how the "
            "verification is related to the candidate. “Verdicts” are changes that move the token to another state.",
            [
                "Variant",
                "Candidate is",
                "Swaps",
                "Mean",
                "Largest",
                *(f"> {level:g} (%)" for level in LEVELS),
                "Verdicts (%)",
            ],
            rows,
        )
        return [often, much]

    def figure(self, results: Results) -> Figure:
        traces = []
        for kind in KINDS:
            bars: list[float | None] = []
            for variant in results.started():
                found = pooled(results.of(variant), kind)
                bars.append(100 * found["over"][1] / found["pairs"] if found["pairs"] else None)
            traces.append(
                {
                    "type": "bar",
                    "name": kind,
                    "x": [variant.name for variant in results.started()],
                    "y": bars,
                    "customdata": [variant.name for variant in results.started()],
                    "marker": {"color": COLOURS[kind]},
                    "texttemplate": "%{y:.1f}",
                    "hovertemplate": f"{kind}: %{{y:.2f}} %<extra></extra>",
                }
            )
        title = f"Swaps that change a verification by more than {LEVELS[1]:g}: {results.header['task_title']}"
        return figure(traces, title, "", "share of swaps (%)", barmode="group")


def reachable_row(name: str, rows: Sequence[Row]) -> list[str]:
    verifications = sum(row["verifications"] for row in rows)
    reachable = sum(row["reachable"] for row in rows)
    return [name, str(verifications), str(reachable), percent(reachable / verifications) if verifications else "–"]


def change_cells(found: dict[str, Any]) -> list[str]:
    pairs = found["pairs"]
    return [
        str(pairs),
        f"{found['sum'] / pairs:.4f}",
        f"{found['largest']:.4f}",
        *(percent(count / pairs) for count in found["over"]),
        percent(found["verdicts"] / pairs),
    ]


def pooled(rows: Sequence[Row], kind: str) -> dict[str, Any]:
    """The tallies of a kind over several samples."""
    tallies = [row["kinds"][kind] for row in rows]
    return {
        "pairs": sum(tally["pairs"] for tally in tallies),
        "sum": sum(tally["sum"] for tally in tallies),
        "largest": max((tally["largest"] for tally in tallies), default=0.0),
        "verdicts": sum(tally["verdicts"] for tally in tallies),
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


def swap_all(model: Model, session: Session) -> Row:
    """Decode a sample, swapping every candidate at every step on the side."""
    changes: list[Change] = []
    verifications = reachable = 0
    worst: tuple[float, int, Change] | None = None
    while not session.finished:
        state = session.state
        step = session.step()
        if step.mask is None:  # the commit phase has no verification
            continue
        verifications += len(state.free("CU"))
        reachable += len({found.position for found in contaminated(step)})
        found = swaps(model, session.decoder, session.settings, state, step)
        changes += found
        for change in found:
            if change.kind == DEEP and (worst is None or change.amount > worst[0]):
                worst = (change.amount, step.index, change)
    return {
        "passes": len(session.steps),
        "verifications": verifications,
        "reachable": reachable,
        "kinds": {kind: tally([change for change in changes if change.kind == kind]) for kind in KINDS},
        "worst": worst
        and {"step": worst[1], "position": worst[2].position, "candidate": worst[2].candidate, "change": worst[0]},
    }


def swaps(model: Model, decoder: Any, settings: Any, state: DecodeState, step: Step) -> list[Change]:
    """The changes of all verifications of a step under every single swap."""
    assert isinstance(decoder, Dard) and step.mask is not None
    held = state.free("CU")
    candidates = [i for i in held if state.states[i] == CANDIDATE]
    if not candidates:
        return []
    question = decoder.ask(model, settings, state)
    verifiers = replace(question, rows=question.rows[len(question.rows) - len(held) :])
    tokens = torch.tensor([state.tokens[i] for i in held])
    before = probabilities(model, verifiers)
    own = before.gather(1, tokens[:, None])[:, 0]
    depth = {(found.position, found.candidate): found.layers for found in contaminated(step)}
    start, end = step.block
    found = []
    for j in candidates:
        second = before[held.index(j)].clone()
        second[state.tokens[j]] = -1
        ids = verifiers.ids.clone()
        ids[len(state.prompt) + j] = int(second.argmax())
        after = probabilities(model, replace(verifiers, ids=ids)).gather(1, tokens[:, None])[:, 0]
        for row, i in enumerate(held):
            layers = depth.get((i, j), 0)
            if step.mask[end - start + i - start, j - start]:
                kind = SEEN
            elif layers:
                kind = OWN if i == j else DEEP
            else:
                kind = OUT_OF_REACH
            old, new = float(own[row]), float(after[row])
            verdict = decoder.state_of(settings, old) != decoder.state_of(settings, new)
            found.append(Change(kind, i, j, layers, abs(new - old), verdict))
    return found


def probabilities(model: Model, question: Question) -> Tensor:
    """What the verifiers think of every token, [R, vocab]; `[MASK]` itself is never a candidate.

    One pass for one question: passes of the same shape are equal to the last bit where nothing has changed.
    """
    logits = model.logits(question.ids, question.positions, question.mask, question.rows).cpu()
    logits[:, model.mask_id] = -torch.inf
    return torch.softmax(logits, dim=-1)
