"""Training rows as arrays, prepared ahead, and the batches drawn from them.

Promises: a batch is a function of the seed, its number and the stage alone, so an interrupted run continues exactly
where it was; within an epoch every row of a world is seen once, so exact quotas stay exact.
Does not know: the network, or time.

Rows come in groups of one length, one example per row, because a fixed shape is what the compiler likes and a
packed row lets examples see each other. What is left of a row after the example is an [EOS] tail of random
length, then padding that nobody sees.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dard.tasks import TASKS, Example
from dard.tasks.arithmetic import Arithmetic
from dard.tasks.countdown import Countdown
from dard.training.vocabulary import EOS_ID, MASK_ID, PAD_ID, word_list

Source = Callable[[np.random.Generator, int], list[Example]]

# The sources of rows: every world, and the drills of single sums behind two of them.
DRILLS: dict[str, Source] = {"story drills": Arithmetic().drills, "expression drills": Countdown().drills}


@dataclass(frozen=True)
class Group:
    """Rows of one length, and how many of each source a batch holds."""

    name: str
    length: int
    rows: dict[str, int]


@dataclass(frozen=True)
class Stage:
    """The groups of every batch from some share of the training budget on."""

    starts: float
    groups: tuple[Group, ...]


# Captions, grids and single sums are learned early; then the rows go to what is still hard, and at last, when the
# learning rate is low, to the cities, whose exact frequencies a high rate would blur.
STAGES: tuple[Stage, ...] = (
    Stage(
        0.0,
        (
            Group("text", 18, {"places": 20, "captions": 12}),
            Group("stories", 50, {"arithmetic": 18, "story drills": 5, "expression drills": 9}),
            Group("grids", 38, {"sudoku-unique": 4, "sudoku-open": 8}),
            Group("expressions", 30, {"countdown": 64}),
        ),
    ),
    Stage(
        0.3,
        (
            Group("text", 18, {"places": 18, "captions": 6}),
            Group("stories", 50, {"arithmetic": 18, "story drills": 2, "expression drills": 4}),
            Group("grids", 38, {"sudoku-unique": 2, "sudoku-open": 6}),
            Group("expressions", 30, {"countdown": 96}),
        ),
    ),
    Stage(
        0.85,
        (
            Group("text", 18, {"places": 44, "captions": 6}),
            Group("stories", 50, {"arithmetic": 14, "story drills": 2, "expression drills": 2}),
            Group("grids", 38, {"sudoku-unique": 2, "sudoku-open": 6}),
            Group("expressions", 30, {"countdown": 96}),
        ),
    ),
)
# Every few batches the questions come in long rows instead, so that a long [EOS] tail is nothing new.
LONG = Group("long", 74, {"arithmetic": 7, "sudoku-unique": 2, "sudoku-open": 3, "countdown": 4})
LONG_EVERY = 8

# The share of question rows in which only the answer is hidden; in the others the question may be, too.
_ANSWER_ONLY = 0.9
# The share of those in which the answer is hidden from some word on. Words scattered over a chain of thought give
# its results away twice; only an answer without its end has to be computed.
_ANSWER_END = 0.4
# Texts: some of the words in focus, a window of a few words, everything from some word on, or a random share.
_FOCUS_SHARE, _WINDOW_SHARE, _SUFFIX_SHARE = 0.4, 0.2, 0.15
_WINDOW_LENGTHS = (2, 4)
_TEXT_TAIL_SHARE = 0.5


@dataclass(frozen=True)
class Rows:
    """All [n, length] but `kind`, [n, 1]; `real` is False at padding; `answer` marks what a row asks for first."""

    ids: NDArray[np.int64]
    real: NDArray[np.bool_]
    answer: NDArray[np.bool_]
    kind: NDArray[np.str_]

    def take(self, chosen: NDArray[np.int64]) -> Rows:
        """The rows with these numbers."""
        return Rows(self.ids[chosen], self.real[chosen], self.answer[chosen], self.kind[chosen])

    @staticmethod
    def join(parts: list[Rows]) -> Rows:
        """All rows of these parts, in order."""
        return Rows(
            np.concatenate([part.ids for part in parts]),
            np.concatenate([part.real for part in parts]),
            np.concatenate([part.answer for part in parts]),
            np.concatenate([part.kind for part in parts]),
        )


@dataclass(frozen=True)
class Batch:
    """Input with hidden words, what is real, which are hidden, and the true words; all [rows, length]."""

    group: str
    inputs: NDArray[np.int64]
    real: NDArray[np.bool_]
    hidden: NDArray[np.bool_]
    targets: NDArray[np.int64]


def source(name: str) -> Source:
    """The generator of examples with this name."""
    return DRILLS.get(name) or TASKS[name].examples


def encode_rows(examples: list[Example], length: int, rng: np.random.Generator) -> Rows:
    """Lay out one example per row of this length."""
    numbers = {word: number for number, word in enumerate(word_list())}
    ids = np.full((len(examples), length), PAD_ID, dtype=np.int64)
    answer = np.zeros((len(examples), length), dtype=np.bool_)
    for row, example in enumerate(examples):
        prompt = [numbers[word] for word in example.prompt.split()]
        words = example.answer.split()
        end = len(prompt) + len(words)
        if end > length:
            raise ValueError(f"an example of {end} words does not fit into rows of {length}: {example}")
        tail = int(rng.integers(length - end + 1))
        if example.kind == "text" and rng.random() >= _TEXT_TAIL_SHARE:
            tail = 0
        ids[row, :end] = prompt + [numbers[word] for word in words]
        ids[row, end : end + tail] = EOS_ID
        if example.kind == "question":
            answer[row, len(prompt) : end + tail] = True
        elif example.kind == "drill":
            answer[row, len(prompt) : end] = _results(words)
        else:
            answer[row, slice(*example.focus)] = True
    kinds = np.array([[example.kind] for example in examples])
    return Rows(ids, ids != PAD_ID, answer, kinds)


def _results(words: list[str]) -> list[bool]:
    """Which words of a list of sums stand between an equals sign and the full stop."""
    inside, marks = False, []
    for word in words:
        inside = inside and word != "."
        marks.append(inside)
        inside = inside or word == "="
    return marks


class Corpus:
    """All rows of all groups, and the batches made of them."""

    def __init__(self, seed: int, rows_per_source: int, shrink: int = 1) -> None:
        """`shrink` divides the rows of a batch, for runs that only test the machinery."""
        self._seed = seed
        self._shrink = shrink
        self._rows: dict[tuple[int, str], Rows] = {}
        for group in (*(group for stage in STAGES for group in stage.groups), LONG):
            for position, name in enumerate(group.rows):
                if (group.length, name) not in self._rows:
                    rng = np.random.default_rng([seed, 1, group.length, position])
                    examples = source(name)(rng, rows_per_source)
                    self._rows[group.length, name] = encode_rows(examples, group.length, rng)

    def batches(self, step: int, used: float = 0.0) -> Iterator[Batch]:
        """The batches of one optimiser step, one per group, when this share of the budget is used up."""
        groups = [stage.groups for stage in STAGES if stage.starts <= used][-1]
        long = step % LONG_EVERY == LONG_EVERY - 1
        for number, group in enumerate((groups[0], LONG) if long else groups):
            rng = np.random.default_rng([self._seed, 2, number, step])
            rows = Rows.join([self._pick(group, position, step) for position in range(len(group.rows))])
            hidden = _hide(rows, rng)
            yield Batch(group.name, np.where(hidden, MASK_ID, rows.ids), rows.real, hidden, rows.ids)

    def _pick(self, group: Group, position: int, step: int) -> Rows:
        name = list(group.rows)[position]
        rows = self._rows[group.length, name]
        total = len(rows.ids)
        count = max(2, group.rows[name] // self._shrink)
        places = np.arange(step * count, (step + 1) * count)
        chosen = np.empty(count, dtype=np.int64)
        for epoch in np.unique(places // total):
            order = np.random.default_rng([self._seed, 3, int(epoch), position]).permutation(total)
            inside = places // total == epoch
            chosen[inside] = order[places[inside] % total]
        return rows.take(chosen)


def _hide(rows: Rows, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Choose the words to hide in each row; at least one. What is drawn per row has the shape [rows, 1]."""
    count, length = rows.ids.shape
    is_text, is_drill = rows.kind == "text", rows.kind == "drill"
    ask = rng.random((count, 1)) < np.where(is_text, _FOCUS_SHARE, _ANSWER_ONLY)
    candidates = np.where(ask, rows.answer, rows.real)

    # Stratified: the shares of hidden words in a batch are spread evenly over (0, 1) for texts, over its upper half
    # for drills, whose sums do not depend on each other, and more densely towards 1 for questions, where the hard
    # decisions are those with little in view.
    share = (rng.permutation(count)[:, None] + rng.random((count, 1))) / count
    share = np.where(rows.kind == "question", np.sqrt(share), share)
    share = np.where(is_drill & ask, (1 + share) / 2, share)
    number = np.maximum(1, np.round(share * candidates.sum(axis=1, keepdims=True)))
    rank = np.argsort(np.argsort(np.where(candidates, rng.random((count, length)), 2.0), axis=1), axis=1)
    scattered = (rank < number) & candidates

    columns = np.arange(length)[None, :]
    window = rng.integers(_WINDOW_LENGTHS[0], _WINDOW_LENGTHS[1] + 1, size=(count, 1))
    start = np.floor(rng.random((count, 1)) * (rows.real.sum(axis=1, keepdims=True) - window + 1))
    in_window = (columns >= start) & (columns < start + window)
    from_start = (columns >= start) & rows.real

    # The manners of hiding are shares of all texts; those that ask for the focus are already settled.
    manner = _FOCUS_SHARE + (1 - _FOCUS_SHARE) * rng.random((count, 1))
    unsettled = is_text & ~ask
    use_window = unsettled & (manner < _FOCUS_SHARE + _WINDOW_SHARE)
    use_suffix = unsettled & ~use_window & (manner < _FOCUS_SHARE + _WINDOW_SHARE + _SUFFIX_SHARE)
    hidden = np.where(use_window, in_window, np.where(use_suffix, from_start, scattered))

    words = rows.answer & (rows.ids != EOS_ID)
    kept = np.floor(rng.random((count, 1)) * words.sum(axis=1, keepdims=True))
    answer_end = rows.answer & (np.cumsum(rows.answer, axis=1) > kept)
    use_end = (rows.kind == "question") & ask & (rng.random((count, 1)) < _ANSWER_END)
    return np.where(use_end, answer_end, hidden)
