"""Who made a verdict: the probability it would have given, had one token not been seen, token by token.

A step's question is built again and asked again with one token changed: hidden, its id a mask for every query; or,
where the attention mask had hidden it, shown to this one query in the place of its shadow. What comes back goes through
the decoder's own `decide`, so a cause says what that decoder would have done, thresholds, ranks, weights and all.
A session that is asked for causes stays as it is. Does not know: any decoder's rule, files, or who is looking.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dard.core.errors import InputError
from dard.core.state import MASKED
from dard.decoders.base import Decision, block_places
from dard.decoding.loop import TOKENS_AT_MOST, ask, decide, unseen
from dard.decoding.session import Session
from dard.models.base import Answer, Question, answer_all, check_needs, offers, rows_of, with_token_hidden
from dard.models.memory import memory_guard
from dard.trace import Cause, Verdict

SIBLINGS = 16  # other tokens of the same pass that are shown one by one
Trial = tuple[int, bool]  # a position, and whether it is shown (the mask had hidden it) or hidden


def causes(
    session: Session,
    step: int | None = None,
    position: int | None = None,
    *,
    seconds: float | None = None,
    shown: bool = True,
    on_batch: Callable[[Verdict], bool | None] | None = None,
) -> list[Cause]:
    """What each token did to the verdict of a step (from 1) on a position, the largest effect first.

    After so many `seconds` the rest is left out, the least attended first; `on_batch` is told how far it is, and stops
    it by returning True. `examine` tells more: the verdict itself, and what was left out.

    >>> from dard.models.scripted import LOS_DIEGO, los_diego
    >>> session = Session(los_diego(), LOS_DIEGO, tau_c=0.4, tau_u=0.8)
    >>> _ = session.run()
    >>> [(cause.position, round(cause.without, 2)) for cause in causes(session, 2, 3)[:2]]
    [(4, 0.51), (2, 0.04)]
    """
    verdict = None
    for verdict in examine(session, step, position, seconds=seconds, shown=shown):
        if on_batch and on_batch(verdict):
            break
    assert verdict is not None
    return verdict.causes


def examine(
    session: Session,
    step: int | None = None,
    position: int | None = None,
    *,
    seconds: float | None = None,
    shown: bool = True,
    known: Verdict | None = None,
) -> Iterator[Verdict]:
    """The same as a verdict that grows batch by batch: whoever stops asking keeps what is there. With `known` it goes
    on from an earlier one. What was not tried is in `left`, the most attended first."""
    yield from before(at_step(session, step), position, seconds=seconds, shown=shown, known=known)


def at_step(
    session: Session, step: int | None, what: str = "causes", saved: str = "trace.verdict(step, position)"
) -> Session:
    """The session as it stood when it made a step; `what` is asked of it, `saved` where a trace has that."""
    if not isinstance(session, Session):
        raise InputError(
            f"{what} are asked of the Session that made a decode, which has the model, "
            f"not of a {type(session).__name__}; what a trace was saved with is {saved}"
        )
    if isinstance(step, bool) or not isinstance(step, int) or not 1 <= step <= len(session.steps):
        raise InputError(f"step = {step!r} is not allowed; step must be a whole number from 1 to {len(session.steps)}")
    return session.at(step - 1)


def before(
    session: Session,
    position: int | None,
    *,
    seconds: float | None = None,
    shown: bool = True,
    known: Verdict | None = None,
) -> Iterator[Verdict]:
    """The same for the step that this session would make next."""
    model, state = session.model, session.state
    check_needs(model, frozenset(), "finding causes, by hiding tokens,")
    question, rows = question_about(session, position)
    assert position is not None
    began = time.perf_counter()
    size = max(1, TOKENS_AT_MOST // len(question.ids)) if "batch" in offers(model) else 1
    tried = {(cause.position, cause.shown) for cause in known.causes} if known else set()
    trials = [trial for trial in trials_of(session, question, rows) if trial not in tried and (shown or not trial[1])]
    crowd = len(trials) >= size
    first = with_attention(session, question) if crowd and "attention" in offers(model) else question
    kept = reachable(question, model.mask_id)
    looks: dict[int, float] = {}
    verdict: Verdict | None = None
    while verdict is None or trials:
        batch = [] if verdict is None and crowd else trials[: size - (verdict is None)]
        questions = [first] if verdict is None else []
        for place, show in batch:
            key = len(state.prompt) + place
            questions.append(with_token_hidden(question, model.mask_id, key, rows if show else None, visible=show))
        with memory_guard(f"{len(questions)} times a step of model {model.name!r}", model.device):
            answers = answer_all(model, [prune_unreachable(each, kept) for each in questions])
            if verdict is None:
                answer = answers.pop(0)
                looks = attended(answer, first, rows, len(state.prompt))
                nearest = {place: abs(place - position) for place, _ in trials}
                trials.sort(key=lambda trial: (trial[1], -looks.get(trial[0], 0.0), nearest[trial[0]]))
                verdict = judge(session, position, first, answer)
                if known:
                    verdict.causes = list(known.causes)
                    verdict.siblings, verdict.together = known.siblings, known.together
                else:
                    beside(session, verdict, question, rows, kept, size)
            tried_now = questions[len(questions) - len(batch) :]
            causes = [
                cause_of(session, verdict, place, show, other, answer)
                for (place, show), other, answer in zip(batch, tried_now, answers, strict=True)
            ]
        trials = trials[len(batch) :]
        verdict = merge_causes(verdict, causes, trials, looks)
        yield verdict
        went_on = bool(causes) or known is None  # whoever goes on gets further, however slow a pass is
        if seconds is not None and went_on and time.perf_counter() - began >= seconds:
            return


def some_causes(session: Session, position: int, seconds: float, known: Verdict | None) -> Verdict:
    """As many causes of the next step's verdict as so many seconds allow, beyond those that are known."""
    *_, verdict = before(session, position, seconds=seconds, known=known)
    return verdict


def question_about(session: Session, position: int | None) -> tuple[Question, Tensor]:
    """The question of the next step, and the rows of it that are about a position."""
    state = session.state
    last = len(state.tokens) - 1
    if isinstance(position, bool) or not isinstance(position, int) or not 0 <= position <= last:
        raise InputError(f"position = {position!r} is not allowed; position must be a whole number from 0 to {last}")
    if state.fixed[position]:
        raise InputError(f"position {position} is given by the template: there is no verdict on it to explain")
    if state.finished:
        raise InputError(f"this decode is finished after {state.step} steps; there is no step {state.step + 1}")
    question = ask(session.decoder, session.model, session.settings, state)
    rows = rows_of(question, len(state.prompt) + position)
    if not len(rows):
        raise InputError(f"step {state.step + 1} did not look at position {position}: there is no verdict to explain")
    return question, rows


def trials_of(session: Session, question: Question, rows: Tensor) -> list[Trial]:
    """What can be tried: every token these rows see can be hidden, every other one shown. Their own token never is."""
    start = len(session.state.prompt)
    own = int(question.positions[rows[0]])
    holds = question.ids != session.model.mask_id
    seen = question.mask[rows].any(dim=0) & holds
    visible = set(question.positions[seen].tolist())
    hidden = set(question.positions[holds].tolist()) - visible - {own}
    return [(at - start, False) for at in sorted(visible)] + [(at - start, True) for at in sorted(hidden)]


def reachable(question: Question, mask_id: int) -> Tensor:
    """The places of the sequence that can matter to the asked rows, however deep the model: bool [S]. The shadows of
    given tokens, half of a template's pass, are seen by nobody and not asked for."""
    kept = question.ids != mask_id
    kept[question.rows] = True
    while (more := kept | question.mask[kept].any(dim=0)).sum() > kept.sum():
        kept = more
    return kept


def prune_unreachable(question: Question, kept: Tensor) -> Question:
    """The same question without the places that nobody asked about sees. One that asks for more than logits is left as
    it is: its answer speaks of the whole sequence."""
    if question.needs or question.frozen:
        return question
    places = kept.nonzero()[:, 0]
    return Question(
        question.ids[places],
        question.positions[places],
        question.mask[places[:, None], places],
        torch.searchsorted(places, question.rows),
    )


def judge(session: Session, position: int, question: Question, answer: Answer) -> Verdict:
    """The verdict as it was: on which token, by which path, and how sure."""
    model, state = session.model, session.state
    held = state.tokens[position]
    untouched = replace(answer, logits=answer.logits.clone())  # a decoder may write into what it gets
    decision = decided(session, held, question, answer)
    path = next(
        (each.name for each in reversed(session.decoder.about.paths) if at(decision, each.name, position)), None
    )
    token = decision.tokens.get(position, held)
    if token == model.mask_id:
        token = held
    if path is None:
        raise InputError(f"{session.decoder.title or session.decoder.name} does not tell what position {position} got")
    table = at(decision, path, position)
    if token == model.mask_id:
        token = next(iter(table))  # it stays masked: the best guess was not good enough
    if token != held:  # the other paths may not have it among their most probable
        decision = decided(session, token, question, untouched)
        table = at(decision, path, position)
    paths = {each.name: other for each in session.decoder.about.paths if (other := at(decision, each.name, position))}
    return Verdict(
        step=state.step + 1,
        position=position,
        token=token,
        path=path,
        actual=probability(table, token),
        state=decision.verdict(position, state.states[position]),
        paths={name: probability(other, token) for name, other in paths.items()},
    )


def beside(session: Session, verdict: Verdict, question: Question, rows: Tensor, kept: Tensor, size: int) -> None:
    """Had a token that was decided now seen the others that were: each in its place, the nearest first, and all."""
    model, state = session.model, session.state
    if state.states[verdict.position] != MASKED or verdict.state == MASKED:
        return
    decision = decided(session, verdict.token, question, answer_all(model, [question])[0])
    tokens = {i: token for i, token in decision.tokens.items() if i in state.free(MASKED) and token != model.mask_id}
    others = sorted(tokens.keys() - {verdict.position}, key=lambda i: abs(i - verdict.position))
    groups = [[i] for i in others[:SIBLINGS]] + ([others] if len(others) > 1 else [])
    causes = []
    for start in range(0, len(groups), size):
        shown = [shown_in_place(session, question, rows, {i: tokens[i] for i in g}) for g in groups[start:][:size]]
        answers = answer_all(model, [prune_unreachable(each, kept) for each in shown])
        pairs = zip(groups[start:], shown, answers, strict=False)
        causes += [cause_of(session, verdict, group[0], True, each, answer) for group, each, answer in pairs]
    verdict.together = causes.pop() if len(others) > 1 else None
    verdict.siblings = causes


def shown_in_place(session: Session, question: Question, rows: Tensor, tokens: Mapping[int, int]) -> Question:
    """A question in which masked positions hold tokens, which these rows see in the place of their shadows."""
    ids, mask = question.ids.clone(), question.mask.clone()
    for position, token in tokens.items():
        first, *shadow = (question.positions == len(session.state.prompt) + position).nonzero()[:, 0].tolist()
        ids[first] = token
        mask[rows, first] = True
        mask[rows[:, None], shadow] = False
    return replace(question, ids=ids, mask=mask)


def cause_of(session: Session, verdict: Verdict, place: int, show: bool, question: Question, answer: Answer) -> Cause:
    """The same verdict with one token hidden or shown."""
    decision = decided(session, verdict.token, question, answer)
    values = {name: probability(at(decision, name, verdict.position), verdict.token) for name in verdict.paths}
    letter = decision.verdict(verdict.position, session.state.states[verdict.position])
    there = decision.tokens.get(verdict.position, session.state.tokens[verdict.position])
    other = there if there not in (verdict.token, session.model.mask_id) and verdict.state != MASKED else None
    return Cause(place, values[verdict.path], letter, show, values, other)


def decided(session: Session, token: int, question: Question, answer: Answer) -> Decision:
    """What the decoder makes of an answer, with the probability of a token in every table."""
    watching = replace(session.state, record=True, watched=(token,))
    with torch.inference_mode():
        return decide(session.decoder, session.model, session.settings, watching, question, answer)


def at(decision: Decision, path: str, position: int) -> dict[int, float]:
    """The tokens of a path's table at a position, most probable first; empty where it predicted nothing."""
    positions, prediction = decision.paths.get(path, ((), None))
    if prediction is None or position not in positions:
        return {}
    row = list(positions).index(position)
    return dict(zip(prediction.top_token[row].tolist(), prediction.top_probability[row].tolist(), strict=True))


def probability(table: dict[int, float], token: int) -> float:
    if token not in table:
        raise InputError(
            "this decoder's tables do not hold the token; let it predict with predict(…, also=state.watched)"
        )
    return round(min(1.0, max(0.0, table[token])), 6)


def with_attention(session: Session, question: Question) -> Question:
    """A question that asks for attention too: of all layers, or of those that its decoder wants to know anyway."""
    return replace(question, attention=question.attention or tuple(range(session.model.num_layers)))


def attended_by(session: Session, position: int) -> dict[int, float]:
    """How much the next step's prediction of a position looks at each other one, in the mean over layers."""
    question, rows = question_about(session, position)
    question = with_attention(session, question)
    return attended(answer_all(session.model, [question])[0], question, rows, len(session.state.prompt))


def attended(answer: Answer, question: Question, rows: Tensor, start: int) -> dict[int, float]:
    """How much these rows look at each position, the mean over layers; empty where nobody asked for it."""
    if answer.attention is None:
        return {}
    looks = answer.attention[:, rows.to(answer.attention.device)].mean(dim=(0, 1)).cpu()
    total = torch.zeros(int(question.positions.max()) + 1).index_add_(0, question.positions, looks)
    return {place - start: value for place, value in enumerate(total.tolist())}


def merge_causes(verdict: Verdict, more: Sequence[Cause], trials: Sequence[Trial], looks: dict[int, float]) -> Verdict:
    """The verdict with more causes, the largest effects first, and what is not tried yet."""
    left = [place for place, _ in trials]
    return replace(
        verdict,
        causes=sorted([*verdict.causes, *more], key=lambda cause: (cause.shown, -abs(cause.without - verdict.actual))),
        left=left,
        share=min(1.0, sum(looks.get(place, 0.0) for place in left)) if looks else None,
    )


def attention(session: Session) -> NDArray[np.float32]:
    """Where the queries of the next pass look, from a model that offers it: weights [layers, 2B, 2B] of the block and
    its shadow, as in a step's mask. What a row lacks of 1 goes to what lies outside the block."""
    model, state = session.model, session.state
    check_needs(model, frozenset({"attention"}), "the view of attention")
    question = ask(session.decoder, model, session.settings, state)
    if len(question.ids) != len(state.prompt) + len(state.tokens) + len(state.block_range):
        raise InputError("this pass has no shadow, and so no mask to put its attention on")
    weights = answer_all(model, [replace(question, attention=tuple(range(model.num_layers)))])[0].attention
    assert weights is not None
    inside = block_places(state)
    return unseen(state, weights.cpu()[:, inside[:, None], inside]).numpy()
