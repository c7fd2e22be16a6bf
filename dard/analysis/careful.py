"""Careful completion: how a decode would go on from a state if it took no risk.

What is unmasked stays, candidates are masked again; then, block by block and with everything in view, the surest masked
position is filled, one token per pass, and nothing is taken back. Where that would take long, every position above 0.95
is filled in a pass, and at least one.

Promises: completions that are under way together share forward passes; one that comes to what another has been at goes
no further, since all that follows is the same. Temperature is 0, nothing is kept from earlier passes, and end tokens
are treated as in the run.
Does not know: which answers are right, or why anyone wants to know.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import torch

from dard.core.settings import Settings
from dard.core.state import CANDIDATE, MASKED, UNMASKED, DecodeState
from dard.decoders.base import Decision, most_confident, plain_question
from dard.decoders.predict import predict
from dard.decoding.loop import TOKENS_AT_MOST
from dard.models.base import Model, answer_all, as_trained, offers
from dard.models.memory import NotEnoughMemory, memory_guard

ONE_BY_ONE = "one token per pass"
SURE_ONES = "all above 0.95 per pass, at least one"
SURE = 0.95
LONG = 64  # positions of a region beyond which one token per pass takes too long


def kept(
    state: DecodeState, mask_id: int, masked: Collection[int] = (), also: Mapping[int, int] | None = None
) -> DecodeState:
    """What careful completion keeps of a state: unmasked tokens but those that shall be `masked`, and tokens that are
    `also` to be there. Given ones always stay."""
    also = also or {}
    tokens, letters = list(state.tokens), list(state.states)
    for i, letter in enumerate(state.states):
        if i in also:
            tokens[i], letters[i] = also[i], UNMASKED
        elif letter == CANDIDATE or (i in masked and not state.fixed[i]):
            tokens[i], letters[i] = mask_id, MASKED
    return replace(
        state,
        tokens=tuple(tokens),
        states="".join(letters),
        memory=None,
        hidden=None,
        record=False,
        watched=(),
    ).at_open_block()


@dataclass(eq=False)
class Completion:
    """One that is under way, or done. `joined`: the one it came upon, and the passes that one had made there."""

    state: DecodeState
    passes: int = 0
    joined: tuple[Completion, int] | None = None

    @property
    def going(self) -> bool:
        return self.joined is None and not self.state.finished

    @property
    def done(self) -> bool:
        return self.state.finished if self.joined is None else self.joined[0].done

    @property
    def tokens(self) -> tuple[int, ...]:
        """What it came to."""
        return self.state.tokens if self.joined is None else self.joined[0].tokens

    @property
    def length(self) -> int:
        """Its passes from beginning to end, those included that another one made."""
        if self.joined is None:
            return self.passes
        other, made = self.joined
        return self.passes + other.length - made


class Careful:
    """The careful completions of one run, counted: those made to their end, passes of single sequences, rows of logits.

    >>> from dard.core.prompt import initial_state
    >>> from dard.models.scripted import LOS_DIEGO, los_diego
    >>> model = los_diego()
    >>> careful = Careful(model, Settings())
    >>> one = careful.begin(initial_state(model, LOS_DIEGO, 0, None))
    >>> [shared for shared in careful.passes([one])]
    [1, 2]
    >>> model.decode(one.tokens[3:5])
    'San Diego'
    """

    def __init__(self, model: Model, settings: Settings, later: bool = True, length: int = 0) -> None:
        """`settings` are the run's, `later` whether its passes see the blocks after the current one, `length` that of
        its region."""
        self.model, self.eos, self.later = model, settings.eos, later
        self.several = length > LONG
        self.settings = Settings(eos=settings.eos)
        self.begun: dict[tuple[int, ...], tuple[Completion, int]] = {}
        self.ended = self.made = self.rows = self.shared = 0
        self.most = TOKENS_AT_MOST

    @property
    def how(self) -> str:
        return SURE_ONES if self.several else ONE_BY_ONE

    def begin(
        self, state: DecodeState, masked: Collection[int] = (), also: Mapping[int, int] | None = None
    ) -> Completion:
        """The completion of what is kept of a state; it makes its passes when `passes` is told to."""
        completion = Completion(kept(state, self.model.mask_id, masked, also))
        self._look(completion)
        return completion

    def passes(self, completions: Sequence[Completion]) -> Iterator[int]:
        """Bring completions to their ends, one shared pass after another; yields how many were made."""
        made = 0
        while going := [each for each in completions if each.going]:
            size = max(1, self.most // max(self._width(each) for each in going))
            if "batch" not in offers(self.model):
                size = 1
            for start in range(0, len(going), size):
                self._pass(going[start : start + size])
            made += 1
            yield made

    def _width(self, completion: Completion) -> int:
        state = completion.state
        return len(state.prompt) + (len(state.tokens) if self.later else state.block_range.stop)

    def _look(self, completion: Completion) -> None:
        """Whether another one has been here; who comes second follows the first."""
        first, made = self.begun.setdefault(completion.state.tokens, (completion, completion.passes))
        if first is not completion:
            completion.joined = first, made
        elif completion.state.finished and completion.passes:
            self.ended += 1

    @torch.inference_mode()
    def _pass(self, group: Sequence[Completion]) -> None:
        """One pass for several completions; in halves where there is no room for all."""
        model = self.model
        masked = [each.state.free(MASKED) for each in group]
        questions = [
            as_trained(
                model, plain_question(model, each.state, rows, None if self.later else each.state.block_range.stop)
            )
            for each, rows in zip(group, masked, strict=True)
        ]
        try:
            with memory_guard(f"{len(group)} times a step of model {model.name!r}", model.device):
                answers = answer_all(model, questions)
        except NotEnoughMemory:
            if len(group) == 1:
                raise
            self.most = max(1, sum(len(question.ids) for question in questions) // 2)
            self._pass(group[: len(group) // 2])
            self._pass(group[len(group) // 2 :])
            return
        self.shared += 1
        logits = torch.cat([answer.logits for answer in answers])
        if self.eos == "never" and model.eos_id is not None:
            logits[:, model.eos_id] = -torch.inf
        choices = iter(predict(logits, mask_id=model.mask_id, mask_counts=True, precision=torch.float64).choices)
        for each, rows in zip(group, masked, strict=True):
            self.made += 1
            self.rows += len(rows)
            each.passes += 1
            each.state = self._filled(each.state, {i: next(choices) for i in rows})
            self._look(each)

    def _filled(self, state: DecodeState, choices: Mapping[int, tuple[int, float]]) -> DecodeState:
        """The state with the surest choice written, or all that are sure."""
        tokens = {i: token for i, (token, _) in choices.items()}
        rank = Decision().rank(self.model, self.settings, {i: p for i, (_, p) in choices.items()}, tokens)
        chosen = most_confident(rank, 1)
        if self.several:
            chosen = [i for i in rank if rank[i] > SURE] or chosen
        held, letters = list(state.tokens), list(state.states)
        for i in chosen:
            held[i], letters[i] = tokens[i], UNMASKED
        filled = replace(state, tokens=tuple(held), states="".join(letters))
        return filled.at_open_block() if len(chosen) == len(choices) else filled
