"""DAPD: commit together only what does not depend on one another, as the model's own attention tells. No revocation.

The masks of a block are gone through in the order of degree × confidence; one is accepted if it depends by at most τ on
every one accepted before it. As published, dependence is attention divided by the row's largest, so of two masks
that are left each depends on the other by 1, and one of them waits.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from torch import Tensor

from dard.core.settings import Settings, setting
from dard.core.state import MASKED, UNMASKED, DecodeState
from dard.decoders.base import Decision, Decoder, most_confident, plain_question, predict_published, sweep
from dard.decoders.predict import softmax_at
from dard.decoders.standard import GUESS
from dard.models.base import Answer, Model, Question
from dard.trace import Step
from dard.trace.about import About, Column, Event, Relation
from dard.trace.records import Graph
from dard.trace.words import Words, against, number

TINY = 1e-8  # what a largest value counts at least
HALFWAY = 0.5  # how much of the answer must be there before the staged variant lets sure tokens through
SURE, CERTAIN = 0.9, 1.0  # the confidence that passes whatever depends on it: in the staged and the direct variant


@dataclass(frozen=True, kw_only=True)
class DapdSettings(Settings):
    variant: str = setting(
        "staged", "what is let through at any rate: from half of the answer on what has 0.9; direct: always what has 1",
        str, choices=("staged", "direct"),
    )  # fmt: skip
    layer_ratio: float = setting(
        0.3, "share of the layers whose attention is read, from the last one", float, low=0, high=1, open_low=True
    )
    tau_min: float = setting(
        0.01, "dependence allowed at the beginning", float, symbol="τ_min", low=0, high=1, below="tau_max"
    )
    tau_max: float = setting(0.15, "dependence allowed at the end", float, symbol="τ_max", low=0, high=1)


class Dapd(Decoder):
    name = "dapd"
    title = "DAPD"
    rule = "fills together only blanks that hardly look at each other"
    Settings = DapdSettings
    needs = frozenset({"attention"})
    about = About(
        paths=[GUESS],
        columns=[Column("degree", "deg", "how much attention passes between this mask and the block's other masks")],
        events={
            "waits": Event("kept waiting", "depends too much on a token that is accepted in the same pass", "‖"),
            "through": Event("let through", "so sure that what it depends on did not matter", "◎"),
        },
        graph=Relation(
            "Dependencies",
            "Largest degree × confidence first. A row looks only at the columns accepted before it and waits if one of "
            "them is above τ. D is attention divided by the row's largest, as in the published code; digests of the "
            "paper compare attention itself.",
            "D", "τ", "degree",
        ),
    )  # fmt: skip
    grid = sweep("tau_max", 0.05, 0.15, 0.3, 0.6, 1.0)

    def ask(self, model: Model, settings: DapdSettings, state: DecodeState) -> Question:
        first = int(model.num_layers * (1 - settings.layer_ratio))
        question = plain_question(model, state, state.free(MASKED))
        return replace(question, attention=tuple(range(first, model.num_layers)))

    def decide(
        self, model: Model, settings: DapdSettings, state: DecodeState, question: Question, answer: Answer
    ) -> Decision:
        masked = state.free(MASKED)
        mask_column = answer.logits[:, model.mask_id].clone()
        prediction = predict_published(model, settings, state, answer.logits)
        answer.logits[:, model.mask_id] = mask_column
        prediction.probability = softmax_at(answer.logits, prediction.token)  # as published: what is sure enough is 1
        confidence = prediction.confidence_at(masked)
        decision = Decision(confidence=confidence, paths={"x": (masked, prediction)})
        rank = decision.rank(model, settings, confidence, prediction.tokens_at(masked))
        assert answer.attention is not None
        score = scores(answer.attention, question.rows)
        degree = dict(zip(masked, score.sum(dim=1).tolist(), strict=True))
        depends = (score / score.amax(dim=1, keepdim=True).clamp(min=TINY)).cpu()

        written = 1 - state.states.count(MASKED) / state.fixed.count(False)
        tau = settings.tau_min + (settings.tau_max - settings.tau_min) * written
        largest, surest = max(degree.values()) + TINY, max(confidence.values()) + TINY
        order = most_confident({i: degree[i] / largest * (confidence[i] / surest) for i in masked}, len(masked))
        through: list[int] = []
        if settings.variant == "direct":
            through = [i for i in masked if rank[i] >= CERTAIN]
        elif written >= HALFWAY:
            through = [i for i in masked if rank[i] >= SURE]

        # Greedy. Nothing stands before the first, so there is always one. The direct variant's are in nobody's way.
        row = {i: k for k, i in enumerate(masked)}
        aside = {*decision.events.get("waiting", ()), *(through if settings.variant == "direct" else ())}
        order = [i for i in order if i not in aside]
        places = [row[i] for i in order]
        cells = depends[places][:, places]
        accepted: list[int] = []
        blocked: dict[int, tuple[int, float]] = {}
        for place, i in enumerate(order):
            before = cells[place, accepted]
            if bool((before > tau).any()):
                strongest = int(before.argmax())
                blocked[i] = (order[accepted[strongest]], float(before[strongest]))
            else:
                accepted.append(place)
        chosen = {*through, *(order[place] for place in accepted)}

        decision.columns["degree"] = degree
        decision.commit(sorted(chosen), prediction.tokens_at(masked))
        decision.events |= {"waits": [i for i in blocked if i not in chosen], "through": through}
        decision.facts = {"tau": tau, "written": written}
        if state.record:
            decision.graph = Graph.of(order, cells.numpy(), tau, blocked)
        return decision

    def say(self, step: Step, position: int, words: Words) -> str:
        token = words.at(step.tokens, position)
        if step.states_before[position] == UNMASKED:
            return f"{token} is committed; this decoder never takes a token back."
        graph, c, degree = step.graph, number(step.confidence[position]), step.column("degree")[position]
        tau, held = step.facts.get("tau", 0.0), ""
        if graph is None or degree is None:
            return super().say(step, position, words)
        if position in graph.blocked:
            by, value = graph.blocked[position]
            compared = against(value, tau, "τ")
            held = f"it depends on {words.at(step.tokens, by)}, accepted before it, by D = {compared}"
        if position in step.happened("through"):
            bar = f"{CERTAIN:g}" if step.settings["variant"] == "direct" else f"at least {SURE:g}"
            although = f", although {held}" if held else ""
            return f"{token} was let through with confidence {c}: what is sure to {bar} need not wait{although}."
        rank = f"number {graph.positions.index(position) + 1} of {len(graph.positions)} in the order"
        rank = f"{rank} (degree {number(degree)}, confidence {c})"
        if held:
            best = words.guess(step, position, "x") or "its best guess"
            return f"{words.place(position)} had to wait: {best} has {c}, but {held}; {rank}."
        if graph.positions[0] == position:
            return f"{token} was committed: {rank}, so nothing was accepted before it."
        return (
            f"{token} was committed: it depends on nothing accepted before it by more than τ = {number(tau)}; {rank}."
        )


def scores(attention: Tensor, rows: Tensor) -> Tensor:
    """(A + Aᵀ) / 2 between the rows asked about [n, n], without what each gives itself; A is the mean over layers."""
    rows = rows.to(attention.device)
    mean = attention[:, rows[:, None], rows].mean(dim=0)
    return ((mean + mean.T) / 2).fill_diagonal_(0)
