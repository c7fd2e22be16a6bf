"""What a decoder is: two pure functions and its own words.

`ask` turns a state into one question to the model, `decide` turns the answer into a `Decision`; `about` and `say` are
all that anyone needs to show what it did. Because asking and deciding are apart, several decodes can put their
questions to the model in one pass. No decoder loops; the driver does. The helpers below serve decoders that are
built like the published ones; a decoder from elsewhere may use them or not.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from dard.core import settings as settings_module
from dard.core.settings import Settings
from dard.core.state import CANDIDATE, MASKED, UNMASKED, DecodeState
from dard.decoders.predict import Prediction, predict
from dard.models.base import Answer, Model, Question
from dard.trace import Step
from dard.trace.about import About
from dard.trace.limits import TOP_K
from dard.trace.plain_words import say_plainly
from dard.trace.records import Graph
from dard.trace.words import Words, plainly

BELOW_ALL = 1000  # no threshold, and no doubt that a factor allows, is as large


@dataclass
class Decision:
    """What a decoder made of the model's answer. Positions it does not mention stay as they were.

    `columns`, `paths`, `events`, `notes`, `facts`, `graph` and `soft` are for the trace; what `About` does not declare
    is not recorded. `soft`: positions, and the words [n, k] they are made of in the next pass, with shares [n, k].
    `drafts`: what would be written now where a token is noise.
    """

    tokens: dict[int, int] = field(default_factory=dict)
    states: dict[int, str] = field(default_factory=dict)
    confidence: dict[int, float] = field(default_factory=dict)
    reliability: dict[int, float] | None = None  # None: the confidence itself
    columns: dict[str, dict[int, float]] = field(default_factory=dict)
    paths: dict[str, tuple[Sequence[int], Prediction]] = field(default_factory=dict)
    events: dict[str, list[int]] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)
    drafts: dict[int, int] = field(default_factory=dict)
    facts: dict[str, float] = field(default_factory=dict)
    graph: Graph | None = None
    soft: tuple[Sequence[int], Tensor, Tensor] | None = None
    memory: Any = None
    ended_by: str | None = None  # set when the block is done, except by the common reason
    stood: dict[int, str] = field(default_factory=dict)  # the states that its end then changed, as they stood

    def verdict(self, position: int, otherwise: str) -> str:
        """The state that a position was judged to be in, whatever the end of the block made of it."""
        return self.stood.get(position) or self.states.get(position, otherwise)

    def rank(
        self, model: Model, settings: Settings, confidence: Mapping[int, float], tokens: Mapping[int, int]
    ) -> dict[int, float]:
        """What masked positions are chosen by: their confidence. With eos = last those that predict an end rank below
        all thresholds while there are others. It orders what is committed; a verification never asks for it."""
        ends = {model.eos_id, *getattr(model, "end_ids", ())} if settings.eos == "last" else set()
        waiting = [i for i in confidence if tokens[i] in ends]
        if len(waiting) == len(confidence):
            return dict(confidence)
        self.events["waiting"] = waiting
        return {i: c - BELOW_ALL if i in waiting else c for i, c in confidence.items()}

    def commit(self, positions: Sequence[int], tokens: Mapping[int, int]) -> None:
        """Unmask positions with their tokens."""
        for position in positions:
            self.tokens[position] = tokens[position]
            self.states[position] = UNMASKED

    def remask(self, positions: Sequence[int], mask_id: int) -> None:
        for position in positions:
            self.tokens[position] = mask_id
            self.states[position] = MASKED


class Decoder(ABC):
    """One decoding method. Instances hold no state."""

    name: ClassVar[str]
    title: ClassVar[str] = ""  # nothing: the name
    rule: ClassVar[str] = ""  # a few words on how it decides
    Settings: ClassVar[type[Settings]] = settings_module.Settings
    needs: ClassVar[frozenset[str]] = frozenset()  # of what a model may offer beyond logits
    states: ClassVar[str] = MASKED + UNMASKED  # the states its positions can be in, by letters that `about` declares
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {}  # settings that go together, by a name
    about: ClassVar[About] = About()
    grid: ClassVar[Sequence[Mapping[str, Any]]] = ({},)  # its settings in a sweep

    def begin_block(self, settings: Any, state: DecodeState) -> Any:
        """The memory a block starts with; `state.memory` is what the previous block left."""
        return None

    def opened(self, model: Model, settings: Any, state: DecodeState) -> DecodeState:
        """The state that a block begins with."""
        return replace(state, memory=self.begin_block(settings, state))

    @abstractmethod
    def ask(self, model: Model, settings: Any, state: DecodeState) -> Question:
        """Forward: the input of this step, its mask, and the rows whose logits are needed."""

    @abstractmethod
    def decide(self, model: Model, settings: Any, state: DecodeState, question: Question, answer: Answer) -> Decision:
        """Everything after the forward pass. `answer.logits` may be overwritten."""

    def block_done(self, state: DecodeState) -> bool:
        """Whether the block that `state` stands in needs no further step."""
        return not state.free(MASKED + CANDIDATE)

    def reliability_by_hand(self, settings: Any, confidence: float) -> float:
        """What a token that was put in by hand is ordered by; only its confidence is known."""
        return confidence

    def looks_at(self, step: Step, position: int) -> bool:
        """Whether a step's rule had anything to do with a position."""
        return step.block[0] <= position < step.block[1]

    def say(self, step: Step, position: int, words: Words) -> str:
        """Why a position is as it is after a step, in one sentence. By default what the states alone tell."""
        return plainly(step, position, words)

    def say_plainly(self, step: Step, position: int, words: Words, about: About) -> str:
        """The same for a newcomer: words and percentages. By default from what a trace declares of itself."""
        return say_plainly(step, position, words, about)

    def points(self, masks: int) -> list[dict[str, Any]]:
        """The grid as far as it makes sense for answers of so many masks."""
        return [dict(point) for point in self.grid]

    def neighbours(self, settings: Any) -> list[dict[str, Any]]:
        """Changes of its own settings, one at a time around the ones used, each setting's in order: what else might
        have been tried. `settings.gen_length` is the number of masks."""
        names = [name for name in self.Settings.allowed() if name not in Settings.allowed()]
        return [
            {name: value}
            for name in names
            for value in self.Settings.allowed()[name].around(
                getattr(settings, name), [point[name] for point in self.grid if name in point]
            )
        ]

    def about_with(self, settings: Mapping[str, Any]) -> About:
        """`about` for a run with these settings; they may come from a file and lack some."""
        return self.about

    def describe(self, settings: Mapping[str, Any]) -> About:
        """What a trace of this decoder holds about itself."""
        symbols = {name: allowed.symbol for name, allowed in self.Settings.allowed().items() if allowed.symbol}
        about = self.about_with(settings).with_values(settings, symbols)
        states = [about.kinds[letter] for letter in self.states]
        return replace(about, title=self.title or self.name, rule=self.rule, states=states)


def sweep(name: str, *values: Any) -> list[dict[str, Any]]:
    """A grid over one setting.

    >>> sweep("n", 4, 5)
    [{'n': 4}, {'n': 5}]
    """
    return [{name: value} for value in values]


def plain_question(model: Model, state: DecodeState, positions: Sequence[int], until: int | None = None) -> Question:
    """`[prompt | region]`, everything visible to everything; logits at the given region positions. The region may end
    before a position."""
    ids = state.prompt + state.tokens[:until]
    size = len(ids)
    return Question(
        ids=torch.tensor(ids),
        positions=torch.arange(size),
        mask=torch.ones(size, size, dtype=torch.bool),
        rows=torch.tensor(positions, dtype=torch.long) + len(state.prompt),
    )


def shadow_question(
    model: Model,
    state: DecodeState,
    block_mask: Tensor,
    outside_keys: Tensor,
    x_positions: Sequence[int],
    s_positions: Sequence[int],
) -> Question:
    """`[prompt | region | shadow block]` under a block mask [2B, 2B]; logits first at x, then at s positions.

    Everybody sees everything outside the block; queries outside see `outside_keys` [2B] of the block.
    """
    before, block = len(state.prompt), state.block_range
    size = before + len(state.tokens)
    inside = block_places(state)
    mask = torch.ones(size + len(block), size + len(block), dtype=torch.bool)
    mask[:, inside] = outside_keys
    mask[inside[:, None], inside] = block_mask
    rows = [before + i for i in x_positions] + [size + i - block.start for i in s_positions]
    return Question(
        ids=torch.tensor(state.prompt + state.tokens + (model.mask_id,) * len(block)),
        positions=torch.cat([torch.arange(size), torch.arange(before + block.start, before + block.stop)]),
        mask=mask,
        rows=torch.tensor(rows, dtype=torch.long),
    )


def block_places(state: DecodeState) -> Tensor:
    """Where the block and then its shadow stand in a question with a shadow, [2B]."""
    before, block = len(state.prompt), state.block_range
    size = before + len(state.tokens)
    return torch.cat([torch.arange(before + block.start, before + block.stop), torch.arange(size, size + len(block))])


def noise_of(settings: Settings, state: DecodeState) -> dict[str, Any]:
    """The sampling arguments of `predict`: noise depends on the seed and the step alone, so a step stays pure."""
    if settings.temperature == 0:
        return {}
    seed = int(np.random.SeedSequence([settings.seed, state.step]).generate_state(1, np.uint64)[0] >> 1)
    return {"temperature": settings.temperature, "generator": torch.Generator().manual_seed(seed)}


def predict_published(
    model: Model,
    settings: Settings,
    state: DecodeState,
    logits: Tensor,
    precision: torch.dtype = torch.float64,
    **options: Any,
) -> Prediction:
    """Prediction as the published baselines make it: softmax over the whole vocabulary, mostly in float64."""
    return predict(
        logits,
        mask_id=model.mask_id,
        mask_counts=True,
        precision=precision,
        top=TOP_K if state.record else 2,
        also=state.watched,
        **noise_of(settings, state),
        **options,
    )


def most_confident(confidence: Mapping[int, float], count: int) -> list[int]:
    """The `count` positions of highest confidence, surest first; the leftmost wins a tie."""
    return sorted(confidence, key=lambda position: (-confidence[position], position))[:count]
