"""The one loop: sessions of a model make passes together, each pass one step of every session that is not finished.

Promises: a session makes the same steps alone and in company; what takes part in a pass is complete when the pass is
reported, and nothing of a pass that failed is left behind. Sessions share a forward pass where that pays: where the
model can answer several questions at once and padding the shorter ones costs little.
What a decoder or a model must not do ends with one sentence that names it, the step and what was expected.
Does not know: who is watching, files, or any decoder's rule.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Protocol, TypeVar

import torch
from torch import Tensor

from dard.core.errors import InputError
from dard.core.settings import Settings
from dard.core.state import MASKED, ROLES, UNMASKED, DecodeState, changes
from dard.decoders.base import Decision, Decoder, block_places
from dard.decoders.registry import declared_events
from dard.decoding import watch
from dard.models.base import Answer, Frozen, Model, Question, answer_all, as_trained, offers, rows_of, with_token_hidden
from dard.models.memory import memory_guard, peak_bytes
from dard.trace import Step
from dard.trace.about import QUIET
from dard.trace.limits import MAX_STEPS, TOP_K
from dard.trace.records import StepContext, Top
from dard.trace.words import DONE, Words, explain

PADDING_AT_MOST = 1.5  # tokens of a shared pass, padding included, per token of its questions
TOKENS_AT_MOST = 4096  # of a shared pass
IDLE_AT_MOST = (
    500  # passes in a row that change nothing: a schedule of many rounds has some, one that never ends is stuck
)
# What to try where logits are no numbers, by the precision of the weights.
OVERFLOWN = {
    "float16": "half precision overflows above 65504: load the model with dtype bfloat16 or float32",
    "bfloat16": "load the model with dtype float32, and if that does not help, check its weights",
}
BROKEN = "check its weights: one that is NaN or infinite is enough"


class Stepping(Protocol):
    """What makes steps: a session, as far as the loop needs one."""

    decoder: Decoder
    model: Model
    settings: Settings

    @property
    def state(self) -> DecodeState: ...
    @property
    def finished(self) -> bool: ...
    def take(self, entry: Step, state: DecodeState, /) -> None: ...


Some = TypeVar("Some", bound=Stepping)


def passes(sessions: Sequence[Some], most: int | None = None) -> Iterator[list[Some]]:
    """Go on until every session is finished, or for so many passes. Yields who took part, after each pass."""
    made = 0
    while made != most and (going := [session for session in sessions if not session.finished]):
        one_pass(going)
        made += 1
        yield going


def finish(sessions: Sequence[Stepping]) -> None:
    """The same to the end, for whoever does not watch."""
    for _ in passes(sessions):
        pass


def one_pass(sessions: Sequence[Stepping]) -> None:
    """One more step of every session; all of the same model."""
    made = [step for group in groups([pending(session) for session in sessions]) for step in shared(group)]
    for session, entry, state in made:
        session.take(entry, state)


class PendingQuestion(NamedTuple):
    """What the next step of a session asks, and how long it took to make that up."""

    session: Stepping
    question: Question
    seconds: float


def pending(session: Stepping) -> PendingQuestion:
    began = time.perf_counter()
    with watch.busy(f"{told(session.decoder, session.state)}, in ask,", watch.DECIDES_WITHIN, session):
        question = ask(session.decoder, session.model, session.settings, session.state)
    return PendingQuestion(session, question, time.perf_counter() - began)


def groups(questions: list[PendingQuestion]) -> list[list[PendingQuestion]]:
    """Which questions share a forward pass: those of similar length, within what a pass may hold."""
    passes: list[list[PendingQuestion]] = []
    for each in sorted(questions, key=lambda one: -len(one.question.ids)):
        if passes and can_join(passes[-1], each):
            passes[-1].append(each)
        else:
            passes.append([each])
    return passes


def can_join(group: list[PendingQuestion], each: PendingQuestion, most: int = TOKENS_AT_MOST) -> bool:
    """Whether a question may join the forward pass of others."""
    if not group:
        return True
    both = [*group, each]
    model, other = each.session.model, group[0].session.model
    alike = getattr(model, "network", model) is getattr(other, "network", other)  # copies share their weights
    if not alike or "batch" not in offers(model) or any(one.question.frozen for one in both):
        return False
    return padded(both) <= min(most, PADDING_AT_MOST * sum(len(one.question.ids) for one in both))


def padded(group: list[PendingQuestion]) -> int:
    """The tokens of a shared pass."""
    return len(group) * max(len(one.question.ids) for one in group)


def shared(group: list[PendingQuestion]) -> Iterator[tuple[Stepping, Step, DecodeState]]:
    """One forward pass for a group, and what each session makes of it."""
    began = time.perf_counter()
    model = group[0].session.model
    size = padded(group) // len(group)
    times = "" if len(group) == 1 else f"{len(group)} times "
    pass_of = f"{times}a step of model {model.name!r} over {size} tokens"
    with memory_guard(pass_of, model.device):
        with watch.busy(pass_of, watch.ANSWERS_WITHIN):
            answers = answer_all(model, [one.question for one in group])
        forward = (time.perf_counter() - began) / len(group)
        for (session, question, asking), answer in zip(group, answers, strict=True):
            with watch.busy(f"{told(session.decoder, session.state)}, in decide,", watch.DECIDES_WITHIN, session):
                decoder, settings, before = session.decoder, session.settings, session.state
                step, state = finish_step(decoder, session.model, settings, before, question, answer)
            step.forward_seconds = round(forward, 6)
            step.other_seconds = round(step.other_seconds + asking, 6)
            yield session, step, state


def ask(decoder: Decoder, model: Model, settings: Settings, state: DecodeState) -> Question:
    """What a step asks, under the mask the model really uses, and without what was hidden from it by hand."""
    question = decoder.ask(model, settings, state)
    check_question(decoder, model, state, question)
    question = with_prefix_cache(decoder, model, settings, state, as_trained(model, question))
    if state.hidden is None:
        return question
    position, check = state.hidden
    rows = None if check is None else rows_of(question, len(state.prompt) + check)
    return with_token_hidden(question, model.mask_id, len(state.prompt) + position, rows)


def with_prefix_cache(
    decoder: Decoder, model: Model, settings: Settings, state: DecodeState, question: Question
) -> Question:
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
    if not done and after.idle >= IDLE_AT_MOST:
        raise InputError(
            f"{told(decoder, state)} changed no token and no state, nor did the {after.idle - 1} before it, and "
            f"{len(after.free(MASKED))} masks are left: every decide must bring the block nearer to its end"
        )
    if not done and after.step >= MAX_STEPS:
        raise InputError(f"{told(decoder, state)} did not end the decode, and a trace holds {MAX_STEPS} steps")
    moved = after.at_open_block() if done else after
    if done and not moved.finished:
        moved = decoder.opened(model, settings, moved)
    step = make_step(decoder, model, settings, state, after, question, decision)
    step.ended_by = (decision.ended_by or DONE) if done else None
    step.goes_on = not done and set(after.states) == {UNMASKED}
    if state.record:
        words = Words(model.token_text, state.rows)
        step.why = {i: explain(decoder, step, i, words) for i in changed(step)}
    step.peak_bytes = peak_bytes(model.device)
    step.other_seconds = round(time.perf_counter() - began, 6)
    return step, moved


def decide(
    decoder: Decoder, model: Model, settings: Settings, state: DecodeState, question: Question, answer: Answer
) -> Decision:
    """What a decoder makes of an answer; one that shall never end gets to see no end. What either is that it cannot be
    is said here, before anyone trips over it."""
    check_answer(decoder, model, state, question, answer)
    if settings.eos == "never" and model.eos_id is not None:
        answer.logits[:, model.eos_id] = -torch.inf
    decision = decoder.decide(model, settings, state, question, answer)
    check_decision(decoder, model, state, decision)
    return decision


def told(decoder: Decoder, state: DecodeState) -> str:
    """Whose step it is, for whoever must be told that it went wrong."""
    return f"decoder {decoder.name!r}: step {state.step + 1}"


def check_question(decoder: Decoder, model: Model, state: DecodeState, question: Any) -> None:
    """Refuse what is no question, or none that a model has an answer to."""
    who = told(decoder, state)
    if not isinstance(question, Question):
        raise InputError(f"{who} asked {type(question).__name__}; ask must return a Question")
    size = len(question.ids)
    shapes = {"ids": [size], "positions": [size], "rows": [len(question.rows)], "mask": [size, size]}
    for name, shape in shapes.items():
        if not isinstance(given := getattr(question, name), Tensor) or list(given.shape) != shape:
            got = f"a tensor {list(given.shape)}" if isinstance(given, Tensor) else f"a {type(given).__name__}"
            raise InputError(f"{who} asked a question whose {name} are {got}; a tensor {shape} was expected")
    ends = (("row", question.rows, size, "rows"), ("token", question.ids, model.vocab_size, "ids"))
    for name, given, count, what in ends:
        if len(given) and not 0 <= int(given.min()) <= int(given.max()) < count:
            one = next(value for value in given.tolist() if not 0 <= value < count)
            raise InputError(f"{who} asked for {name} {one} of a question whose {what} go from 0 to {count - 1}")


def check_answer(decoder: Decoder, model: Model, state: DecodeState, question: Question, answer: Answer) -> None:
    """Refuse an answer that is not what was asked for."""
    logits, wanted = getattr(answer, "logits", None), [len(question.rows), model.vocab_size]
    if not isinstance(logits, Tensor) or list(logits.shape) != wanted:
        got = f"shape {list(logits.shape)}" if isinstance(logits, Tensor) else f"type {type(logits).__name__}"
        raise InputError(
            f"{told(decoder, state)} got logits of {got} from model {model.name!r}; {wanted} was expected: a row for "
            "every row of the question, a column for every token of the vocabulary"
        )
    if not logits.is_floating_point():
        raise InputError(
            f"{told(decoder, state)} got logits of {logits.dtype} from model {model.name!r}; floats are due"
        )
    finite = torch.isfinite(logits.amax(dim=-1))  # -inf rules a token out, but not all of them
    if not finite.all():
        row = int((~finite).nonzero()[0, 0])
        kind = "NaN" if logits[row].isnan().any() else "infinite"
        dtype = str(getattr(getattr(model, "network", None), "dtype", logits.dtype)).removeprefix("torch.")
        raise InputError(
            f"{told(decoder, state)} got logits that are {kind} (row {row} of {len(finite)}) from model {model.name!r} "
            f"in {dtype}, of which no answer can be made; {OVERFLOWN.get(dtype, BROKEN)}"
        )


def check_decision(decoder: Decoder, model: Model, state: DecodeState, decision: Any) -> None:
    """Refuse a decision that cannot be made of a state."""
    who, length = told(decoder, state), len(state.tokens)
    if not isinstance(decision, Decision):
        raise InputError(f"{who} decided {type(decision).__name__}; decide must return a Decision")
    for what in ("tokens", "states", "confidence"):
        if not isinstance(given := getattr(decision, what), Mapping):
            raise InputError(f"{who} gives {what} as {type(given).__name__}; they must be a dict by position")
        for position in given:
            if not isinstance(position, int) or not 0 <= position < length:
                raise InputError(
                    f"{who} gives {what} at position {position!r}; positions are ints from 0 to {length - 1}"
                )
    for position, value in decision.confidence.items():
        if not isinstance(value, int | float) or not math.isfinite(value):
            shown = repr(value)[:40]
            raise InputError(f"{who} gives position {position} the confidence {shown}; it must be a finite number")
    for position, token in decision.tokens.items():
        if not isinstance(token, int) or not 0 <= token < model.vocab_size:
            raise InputError(
                f"{who} puts token {token!r} at position {position}; "
                f"the ids of model {model.name!r} are ints from 0 to {model.vocab_size - 1}"
            )
        if state.fixed[position] and token != state.tokens[position]:
            raise InputError(f"{who} puts token {token} at position {position}, which is given by the template")
    for position, letter in decision.states.items():
        if letter not in tuple(decoder.states):
            raise InputError(
                f"{who} puts position {position} into state {letter!r}; its states are {', '.join(decoder.states)}"
            )
        masked = decision.tokens.get(position, state.tokens[position]) == model.mask_id
        if masked != (letter == MASKED):
            holds = "the mask token" if masked else "a token that is not the mask"
            raise InputError(f"{who} puts position {position} into state {letter!r}, but {holds} is there")


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
    same = (tuple(tokens), "".join(states)) == (state.tokens, state.states)
    return replace(
        state,
        idle=state.idle + 1 if same else 0,
        tokens=tuple(tokens),
        states="".join(states),
        confidence=tuple(confidence),
        reliability=tuple(reliability),
        step=state.step + 1,
        memory=decision.memory,
        drafts=decision.drafts,
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
        events=events(before, after, decision, decoder),
        facts={name: round(float(value), 6) for name, value in decision.facts.items()},
        hidden=before.hidden,
        drafts=dict(after.drafts),
    )
    step._link = StepContext(
        list(before.tokens),
        before.states,
        [round(c, 6) for c in before.confidence],
        list(before.fixed),
        model.num_layers,
        settings.as_dict(),
        about.kinds,
        before.drafts,
    )
    for column in about.columns:
        if column.name in decision.columns:
            step.columns[column.name] = row(decision.columns[column.name], length)
    if before.record:
        step.notes = {c.name: decision.notes[c.name] for c in about.columns if c.name in decision.notes}
        for path in about.paths:
            if path.name in decision.paths:
                positions, prediction = decision.paths[path.name]
                step.paths[path.name] = top(positions, prediction.top_token, prediction.top_probability)
        step.soft = top(*decision.soft) if decision.soft and about.soft else None
        step.graph = decision.graph if about.graph else None
        record_mask(step, before, question)
    return step


def events(before: DecodeState, after: DecodeState, decision: Decision, decoder: Decoder) -> dict[str, list[int]]:
    """What happened: read off the states before and after, and what the decoder says of its own. One with states of its
    own says all of it."""
    declared = declared_events(decoder.about)
    kinds: dict[str, list[int]] = {}
    if set(decoder.states) <= ROLES.keys():
        kinds = changes(before.states, after.states, before.tokens, after.tokens, decision.events.get("accepted", ()))
    revoked = kinds.pop("demoted", decision.events.get("demoted", []))
    own = {name: sorted(positions) for name, positions in decision.events.items() if name in declared}
    own["waiting"] = [i for i in own.get("waiting", ()) if after.states[i] == MASKED]
    return {name: positions for name, positions in {**kinds, **own, "demoted": revoked}.items() if positions}


def changed(step: Step) -> list[int]:
    """Positions to which something happened."""
    return sorted({position for name, positions in step.events.items() if name not in QUIET for position in positions})


def row(values: dict[int, float], length: int) -> list[float | None]:
    numbers: list[float | None] = [None] * length
    for position, value in values.items():
        numbers[position] = round(float(value), 6)
    return numbers


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
    keys = unseen(state, question.mask[:, inside])
    step.set_mask(keys[inside].numpy(), keys[seen].any(dim=0).numpy() if seen.any() else None)


def unseen(state: DecodeState, keys: Tensor) -> Tensor:
    """What queries have of the block and its shadow [..., 2B], with a token that was hidden from everyone by hand told
    as what it was to them: its id a mask, as that of its shadow."""
    block = state.block_range
    if state.hidden is None or state.hidden[1] is not None or state.hidden[0] not in block:
        return keys
    own, keys = state.hidden[0] - block.start, keys.clone()
    keys[..., own + len(block)] += keys[..., own]
    keys[..., own] = 0
    return keys
