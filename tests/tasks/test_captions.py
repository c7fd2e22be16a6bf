"""Verb, preposition and object belong together."""

from __future__ import annotations

import numpy as np
import pytest

from dard.tasks import TASKS, Item

SUBJECT = "A man in a black shirt"


def right(predicate: str) -> bool:
    text = f"{SUBJECT} {predicate} ."
    masks = " ".join("[MASK]" for _ in predicate.split())
    return TASKS["captions"].score(Item(f"{SUBJECT} {masks} .", None, None), text).right


@pytest.mark.parametrize(
    "predicate",
    [
        "is reading a book",
        "sits on a bench",
        "is sitting on a bench",
        "is talking on a phone",
        "is standing on a football field",
        "is playing football on a field",
    ],
)
def test_captions_of_the_grammar_are_right(predicate: str) -> None:
    assert right(predicate)


@pytest.mark.parametrize(
    "predicate",
    [
        "is reading on book",
        "sits on a book",
        "sits reading a book",
        "is talking a phone",
        "is playing field on a field",
    ],
)
def test_mixed_captions_are_wrong(predicate: str) -> None:
    assert not right(predicate)


def test_every_generated_caption_is_right_for_its_own_template() -> None:
    task = TASKS["captions"]
    for example in task.examples(np.random.default_rng(1), 300):
        assert task.score(Item(example.answer, None, None), example.answer).right


def test_given_words_must_be_kept() -> None:
    item = Item(f"{SUBJECT} is [MASK] a book .", None, None)
    assert not TASKS["captions"].score(item, f"{SUBJECT} reads a book .").right
    assert not TASKS["captions"].score(item, "A girl in a red hat is reading a book .").right
