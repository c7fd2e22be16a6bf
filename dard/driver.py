"""The one loop: sessions of a model make passes together, each pass one step of every session that is not finished.

Promises: a session makes the same steps alone and in company; what takes part in a pass is complete when the pass is
reported, and nothing of a pass that failed is left behind. Sessions share a forward pass where that pays: where the
model can answer several questions at once and padding the shorter ones costs little.
Does not know: who is watching, files, or any decoder's rule.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor

from dard.about import QUIET
from dard.decoders.base import Decision, Decoder, block_places
from dard.decoders.registry import declared_events
from dard.models.base import Answer, Frozen, Model, Question, answer_all, as_trained, offers
from dard.models.memory import memory_guard, peak_bytes
from dard.settings import Settings
from dard.state import MASKED, UNMASKED, DecodeState, changes
from dard.trace import TOP_K, Link, Step, Top
from dard.words import DONE, Words, explain

if TYPE_CHECKING:
    from dard.session import Session

PADDING_AT_MOST = 1.5  # tokens of a shared pass, padding included, per token of its questions
TOKENS_AT_MOST = 4096  # of a shared pass


def passes(sessions: Sequence[Session], most: int | None = None) -> Iterator[list[Session]]:
    """Go on until every session is finished, or for so many passes. Yields who took part, after each pass."""
    made = 0
    while made != most and (going := [session for session in sessions if not session.finished]):
        one_pass(going)
        made += 1
        yield going


def finish(sessions: Sequence[Session]) -> None:
    """The same to the end, for whoever does not watch."""
    for _ in passes(sessions):
        pass


def one_pass(sessions: Sequence[Session]) -> None:
    """One more step of every session; all of the same model."""
    made = [step for group in groups([asked(session) for session in sessions]) for step in shared(group)]
    for session, entry, state in made:
        session.take(entry, state)


class Asked(NamedTuple):
    """What the next step of a session asks, and how long it took to make that up."""

    session: Session
    question: Question
    seconds: float


def asked(session: Session) -> Asked:
    began = time.perf_counter()
    question = ask(session.decoder, session.model, session.settings, session.state)
    return Asked(session, question, time.perf_counter() - began)


def groups(questions: list[Asked]) -> list[list[Asked]]:
    """Which questions share a forward pass: those of similar length, within what a pass may hold."""
    found: list[list[Asked]] = []
    for each in sorted(questions, key=lambda one: -len(one.question.ids)):
        if found and fits(found[-1], each):
            found[-1].append(each)
        else:
            found.append([each])
    return found


def fits(group: list[Asked], each: Asked, most: int = TOKENS_AT_MOST) -> bool:
    """Whether a question may join the forward pass of others."""
    if not group:
        return True
    both = [*group, each]
    model, other = each.session.model, group[0].session.model
    alike = getattr(model, "network", model) is getattr(other, "network", other)  # copies share their weights
    if not alike or "batch" not in offers(model) or any(one.question.frozen for one in both):
        return False
    return padded(both) <= min(most, PADDING_AT_MOST * sum(len(one.question.ids) for one in both))


def padded(group: list[Asked]) -> int:
    """The tokens of a shared pass."""
    return len(group) * max(len(one.question.ids) for one in group)


def shared(group: list[Asked]) -> Iterator[tuple[Session, Step, DecodeState]]:
    """One forward pass for a group, and what each session makes of it."""
    began = time.perf_counter()
    model = group[0].session.model
    size = padded(group) // len(group)
    times = "" if len(group) == 1 else f"{len(group)} times "
    with memory_guard(f"{times}a step of model {model.name!r} over {size} tokens", model.device):
        answers = answer_all(model, [one.question for one in group])
        forward = (time.perf_counter() - began) / len(group)
        for (session, question, asking), answer in zip(group, answers, strict=True):
            step, state = finish_step(session.decoder, session.model, session.settings, session.state, question, answer)
            step.forward_seconds = round(forward, 6)
            step.other_seconds = round(step.other_seconds + asking, 6)
            yield session, step, state


def ask(decoder: Decoder, model: Model, settings: Settings, state: DecodeState) -> Question:
    """What a step asks, under the mask the model really uses, and without what was hidden from it by hand."""
    question = keeping(decoder, model, settings, state, as_trained(model, decoder.ask(model, settings, state)))
    if state.hidden is None:
        return question
    position, check = state.hidden
    rows = None if check is None else rows_of(question, len(state.prompt) + check)
    return altered(question, model.mask_id, len(state.prompt) + position, rows)


def keeping(decoder: Decoder, model: Model, settings: Settings, state: DecodeState, question: Question) -> Question:
    """With a prefix cache the prompt stays as it was in the first step of the block; in a block-causal model nothing
    before the block can change, so all of it stays."""
    if settings.prefix_cache == "off":
        return question
    if (size := getattr(model, "block_size", None)) is not None:
        used = torch.cat([question.rows, *([question.soft.positions.cpu()] if question.soft else ())])
        length = int(question.positions[used].min()) // size * size
        ids, positions, mask = question.ids[:length], question.positions[:length], question.mask[:length, :length]
        kept = Frozen(length, Question(ids, positions, mask, question.rows[:0]))
        return replace(question, frozen=kept) if length else question
    if not state.prompt:
        return question
    opening = ask(decoder, model, settings, state.opening) if state.opening else None
    return replace(question, frozen=Frozen(len(state.prompt), opening))


def rows_of(question: Question, place: int) -> Tensor:
    """The rows of a question that predict a place of the sequence."""
    return question.rows[question.positions[question.rows] == place]


def altered(
    question: Question, mask_id: int, place: int, rows: Tensor | None = None, visible: bool = False
) -> Question:
    """A question in which the token at a place of the sequence is hidden: from everyone, its id a mask; or from some
    rows alone, which see its shadow instead, if it has one. `visible` shows it to those rows, in its shadow's place."""
    ids, mask = question.ids.clone(), question.mask
    here, token = question.positions == place, question.ids != mask_id
    if rows is None:
        ids[here] = mask_id
    else:
        mask = mask.clone()
        mask[rows[:, None], (here & token).nonzero()[:, 0]] = visible
        mask[rows[:, None], (here & ~token).nonzero()[:, 0]] = not visible
    frozen = question.frozen
    if rows is None and frozen and frozen.opening and place < frozen.length:  # what is kept was computed from it
        frozen = Frozen(frozen.length, altered(frozen.opening, mask_id, place))
    return replace(question, ids=ids, mask=mask, frozen=frozen)


def one_step(decoder: Decoder, model: Model, settings: Settings, state: DecodeState) -> tuple[Step, DecodeState]:
    """One forward pass and one state update, without a session: the record of it, and the next state."""
    question = ask(decoder, model, settings, state)
    return finish_step(decoder, model, settings, state, question, answer_all(model, [question])[0])


@torch.inference_mode()
def finish_step(
    decoder: Decoder, model: Model, settings: Settings, state: DecodeState, question: Question, answer: Answer
) -> tuple[Step, DecodeState]:
    """The half of a step that comes after the forward pass."""
    began = time.perf_counter()
    decision = decide(decoder, model, settings, state, question, answer)
    after = apply(state, decision)
    done = decoder.block_done(after)
    moved = after.at_open_block() if done else after
    if done and not moved.finished:
        moved = replace(moved, memory=decoder.begin_block(settings, moved))
    step = make_step(decoder, model, settings, state, after, question, decision)
    step.ended_by = (decision.ended_by or DONE) if done else None
    step.goes_on = not done and set(after.states) == {UNMASKED}
    if state.record:
        words = Words(model.token_text)
        step.why = {i: explain(decoder, step, i, words) for i in changed(step)}
    step.peak_bytes = peak_bytes(model.device)
    step.other_seconds = round(time.perf_counter() - began, 6)
    return step, moved


def decide(
    decoder: Decoder, model: Model, settings: Settings, state: DecodeState, question: Question, answer: Answer
) -> Decision:
    """What a decoder makes of an answer; one that shall never end gets to see no end."""
    if settings.eos == "never" and model.eos_id is not None:
        answer.logits[:, model.eos_id] = -torch.inf
    return decoder.decide(model, settings, state, question, answer)


def apply(state: DecodeState, decision: Decision) -> DecodeState:
    """The state after a decision."""
    tokens, states, confidence = list(state.tokens), list(state.states), list(state.confidence)
    reliability = list(state.reliability)
    for position, token in decision.tokens.items():
        tokens[position] = token
    for position, letter in decision.states.items():
        states[position] = letter
    for position, value in decision.confidence.items():
        confidence[position] = value
    for position, value in (decision.reliability or decision.confidence).items():
        reliability[position] = value
    return replace(
        state,
        tokens=tuple(tokens),
        states="".join(states),
        confidence=tuple(confidence),
        reliability=tuple(reliability),
        step=state.step + 1,
        memory=decision.memory,
        hidden=None,
        opening=state.opening or state,
    )


def make_step(
    decoder: Decoder,
    model: Model,
    settings: Settings,
    before: DecodeState,
    after: DecodeState,
    question: Question,
    decision: Decision,
) -> Step:
    """The record of a step."""
    length, block = len(after.tokens), before.block_range
    about = decoder.about
    step = Step(
        index=after.step,
        block=(block.start, block.stop),
        tokens=list(after.tokens),
        states=after.states,
        columns={"confidence": [round(c, 6) for c in after.confidence]},
        events=events(before, after, decision, declared_events(about)),
        facts={name: round(float(value), 6) for name, value in decision.facts.items()},
        hidden=before.hidden,
    )
    step._link = Link(
        list(before.tokens),
        before.states,
        [round(c, 6) for c in before.confidence],
        list(before.fixed),
        model.num_layers,
        settings.as_dict(),
    )
    for column in about.columns:
        if column.name in decision.columns:
            step.columns[column.name] = row(decision.columns[column.name], length)
    if before.record:
        step.notes = {c.name: decision.notes[c.name] for c in about.columns if c.name in decision.notes}
        for path in about.paths:
            if path.name in decision.paths:
                positions, found = decision.paths[path.name]
                step.paths[path.name] = top(positions, found.top_token, found.top_probability)
        step.soft = top(*decision.soft) if decision.soft and about.soft else None
        step.graph = decision.graph if about.graph else None
        record_mask(step, before, question)
    return step


def events(before: DecodeState, after: DecodeState, decision: Decision, declared: set[str]) -> dict[str, list[int]]:
    """What happened: read off the states before and after, and what the decoder says of its own."""
    found = changes(before.states, after.states, before.tokens, after.tokens, decision.events.get("accepted", ()))
    revoked = found.pop("demoted", [])
    own = {name: sorted(positions) for name, positions in decision.events.items() if name in declared}
    own["waiting"] = [i for i in own.get("waiting", ()) if after.states[i] == MASKED]
    return {name: positions for name, positions in {**found, **own, "demoted": revoked}.items() if positions}


def changed(step: Step) -> list[int]:
    """Positions to which something happened."""
    return sorted({position for name, positions in step.events.items() if name not in QUIET for position in positions})


def row(values: dict[int, float], length: int) -> list[float | None]:
    found: list[float | None] = [None] * length
    for position, value in values.items():
        found[position] = round(float(value), 6)
    return found


def top(positions: Sequence[int], tokens: Tensor, shares: Tensor) -> Top:
    """The most probable tokens [n, k], as a trace keeps them."""
    ids = tokens[:, :TOP_K]
    p = (shares[:, :TOP_K].double() * 10_000).round().clamp(0, 10_000).long()
    listed, parts = torch.stack([ids.flatten(), p.flatten()]).tolist()  # from the device at once
    return Top(positions=list(positions), k=ids.shape[1], ids=listed, p=parts)


def record_mask(step: Step, state: DecodeState, question: Question) -> None:
    """The part of the question's mask that is about the block and its shadow, if it has one."""
    size = len(state.prompt) + len(state.tokens)
    if len(question.ids) != size + len(state.block_range):
        return
    inside = block_places(state)
    seen = question.mask[inside].any(
        dim=0
    )  # whom the block sees outside: in a block-causal model only what is before it
    seen[inside] = False
    outside = question.mask[seen][:, inside].any(dim=0).numpy() if seen.any() else None
    step.set_mask(question.mask[inside[:, None], inside].numpy(), outside)
