"""What holds for every small world: the split, the vocabulary, and a scorer that agrees with its generator."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dard.tasks import MASK, TASKS, Example, Item
from dard.tasks.arithmetic import Arithmetic
from dard.tasks.judge import readings

NAMES = sorted(TASKS)


def training_texts(name: str, count: int, seed: int = 0) -> list[Example]:
    return TASKS[name].examples(np.random.default_rng(seed), count)


@pytest.mark.parametrize("name", NAMES)
def test_the_number_of_examples_and_items_is_as_asked(name: str) -> None:
    for count in (1, 7, 600):
        assert len(training_texts(name, count)) == count
    assert len(TASKS[name].test_items(320)) == 320


@pytest.mark.parametrize("name", NAMES)
def test_the_same_seed_gives_the_same_examples_and_items(name: str) -> None:
    assert training_texts(name, 50, seed=3) == training_texts(name, 50, seed=3)
    assert training_texts(name, 50, seed=3) != training_texts(name, 50, seed=4)
    assert TASKS[name].test_items(20, seed=3) == TASKS[name].test_items(20, seed=3)


@pytest.mark.parametrize("name", NAMES)
def test_no_test_prompt_is_ever_a_training_prompt(name: str) -> None:
    items = TASKS[name].test_items(320)
    assert len({item.prompt for item in items}) == len(items)
    examples = training_texts(name, 4000)
    if name == "places":
        # The city is what is asked, so the sentence around it must be new.
        contexts = {item.facts["context"].replace(f"{MASK} {MASK}", "{}") for item in items}
        seen = {example.answer for example in examples}
        for context in contexts:
            before, after = context.split("{}")
            assert not any(text.startswith(before) and text.endswith(after) for text in seen), context
    elif name == "captions":
        assert not {item.answer for item in items} & {example.answer for example in examples}
    elif name == "arithmetic":
        # The chain holds the whole problem, whoever the story is about.
        chains = {chain for item in items for chain in item.facts["chains"]}
        assert not chains & {example.answer for example in examples}
    elif name == "countdown":
        asked = {(item.facts["numbers"], item.facts["target"]) for item in items}
        for example in examples:
            [(_, problem)] = readings(example.prompt)
            assert (tuple(sorted(problem.facts["numbers"])), problem.facts["target"]) not in asked
    else:
        assert not {item.prompt for item in items} & {example.prompt for example in examples}


@pytest.mark.parametrize("name", NAMES)
def test_every_word_is_in_the_vocabulary(name: str) -> None:
    vocabulary = TASKS[name].vocabulary()
    for example in training_texts(name, 1000):
        assert set(f"{example.prompt} {example.answer}".split()) <= vocabulary
    for item in TASKS[name].test_items(100):
        assert set(item.prompt.split()) <= vocabulary | {MASK}
    for drill in Arithmetic().drills(np.random.default_rng(0), 100):
        assert set(f"{drill.prompt} {drill.answer}".split()) <= TASKS["arithmetic"].vocabulary()


@pytest.mark.parametrize("name", ["captions", "arithmetic", "sudoku-unique"])
def test_the_listed_answer_is_right(name: str) -> None:
    task = TASKS[name]
    for item in task.test_items(100):
        assert item.answer is not None
        score = task.score(item, item.answer)
        assert score.right
        assert all(value == 1.0 for value in score.details.values())


@pytest.mark.parametrize("name", ["arithmetic", "sudoku-unique"])
def test_an_end_of_text_tail_and_a_repeated_prompt_do_not_matter(name: str) -> None:
    task = TASKS[name]
    item = task.test_items(1)[0]
    assert task.score(item, f"{item.answer} [EOS] [EOS] 7").right
    assert task.score(item, f"{item.prompt} {item.answer}").right


@pytest.mark.parametrize("name", NAMES)
@given(text=st.text(max_size=60))
@settings(max_examples=30, deadline=None)
def test_any_text_gets_a_score(name: str, text: str) -> None:
    task = TASKS[name]
    item = task.test_items(1)[0]
    score = task.score(item, text)
    assert not score.right
    assert all(0 <= value <= 1 for value in score.details.values())


@pytest.mark.parametrize("name", ["captions", "arithmetic", "sudoku-unique"])
@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_one_wrong_word_is_noticed(name: str, data: st.DataObject) -> None:
    task = TASKS[name]
    item: Item = data.draw(st.sampled_from(task.test_items(40)))
    assert item.answer is not None
    words = item.answer.split()
    place = data.draw(st.integers(0, len(words) - 1))
    words[place] = "[UNK]"
    score = task.score(item, " ".join(words))
    if name == "arithmetic":
        assert score.details["exact chain"] == 0.0
    else:
        assert not score.right


def test_asking_for_more_items_than_there_are_is_refused() -> None:
    with pytest.raises(ValueError, match="only"):
        TASKS["countdown"].test_items(10_000)
