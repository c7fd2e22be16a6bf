"""Picture captions: who, wearing what, doing what, where.

Promises: every caption is `subject frame place .`, and verb, preposition and object belong together: one reads
a book, talks on a phone and sits on a bench, and never reads on a book. A caption is right when the grammar
could have written it.
Does not know: pictures.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np

from dard.tasks.base import MASK, Example, Item, Score, distinct_items, held_out

_NOUNS = ("man", "woman", "boy", "girl")
_COLOURS = ("black", "white", "red", "blue", "green", "yellow")
_GARMENTS = ("shirt", "jacket", "hat", "coat")

_SEATS = ("bench", "chair", "sofa")
_PAPERS = ("book", "newspaper", "letter")
_CALLS = ("phone", "radio")


@dataclass(frozen=True)
class Frame:
    """A verb phrase with one open object, and the places where it may happen ("" is no place)."""

    words: str
    objects: tuple[str, ...]
    places: tuple[str, ...]


FRAMES: tuple[Frame, ...] = (
    Frame("is reading a {}", _PAPERS, ("", "in the library", "at the station")),
    Frame("reads a {}", _PAPERS, ("", "in the library", "at the station")),
    Frame("is sitting on a {}", _SEATS, ("", "in the garden", "by the window")),
    Frame("sits on a {}", _SEATS, ("", "in the garden", "by the window")),
    Frame("is talking on a {}", _CALLS, ("", "in the street", "at the station")),
    Frame("talks on a {}", _CALLS, ("", "in the street", "at the station")),
    Frame("is talking to a {}", ("friend", "teacher"), ("", "in the street", "at the station")),
    Frame("is standing on a {} field", ("football", "baseball"), ("", "in the rain")),
    Frame("stands on a {} field", ("football", "baseball"), ("", "in the rain")),
    Frame("is playing {} on a field", ("football", "baseball"), ("", "in the rain")),
    Frame("plays {} on a field", ("football", "baseball"), ("", "in the rain")),
    Frame("is playing a {}", ("guitar", "piano"), ("", "by the window")),
    Frame("is riding a {}", ("bike", "horse"), ("", "in the rain", "in the street")),
    Frame("is looking at a {}", ("painting", "map"), ("", "in the museum")),
    Frame("looks at a {}", ("painting", "map"), ("", "in the museum")),
    Frame("is waiting for a {}", ("bus", "train"), ("", "in the rain", "at the station")),
    Frame("waits for a {}", ("bus", "train"), ("", "in the rain", "at the station")),
    Frame("is writing a letter to a {}", ("friend", "teacher"), ("", "by the window")),
    Frame("is drinking {} from a cup", ("coffee", "tea"), ("", "in the garden", "by the window")),
)

SUBJECTS: tuple[str, ...] = tuple(
    f"A {noun} in a {colour} {garment}" for noun, colour, garment in product(_NOUNS, _COLOURS, _GARMENTS)
)

PREDICATES: tuple[str, ...] = tuple(
    " ".join(f"{frame.words.format(thing)} {place} .".split())
    for frame in FRAMES
    for thing, place in product(frame.objects, frame.places)
)

_SUBJECT_LENGTH = len(SUBJECTS[0].split())


class Captions:
    """Fill in the verb phrase of a caption."""

    name = "captions"
    title = "Captions"

    @cached_property
    def _grammatical(self) -> frozenset[str]:
        return frozenset(f"{subject} {predicate}" for subject, predicate in product(SUBJECTS, PREDICATES))

    def _draw(self, rng: np.random.Generator) -> str:
        # The frame is drawn first, so that a frame with many objects and places is not more frequent.
        frame = FRAMES[int(rng.integers(len(FRAMES)))]
        thing = frame.objects[int(rng.integers(len(frame.objects)))]
        place = frame.places[int(rng.integers(len(frame.places)))]
        subject = SUBJECTS[int(rng.integers(len(SUBJECTS)))]
        return " ".join(f"{subject} {frame.words.format(thing)} {place} .".split())

    def examples(self, rng: np.random.Generator, count: int) -> list[Example]:
        examples: list[Example] = []
        while len(examples) < count:
            text = self._draw(rng)
            if not held_out(text):
                examples.append(Example("text", "", text, (_SUBJECT_LENGTH, len(text.split()) - 1)))
        return examples

    def test_items(self, count: int, seed: int = 0) -> list[Item]:
        rng = np.random.default_rng(seed)

        def draw() -> Item | None:
            text = self._draw(rng)
            if not held_out(text):
                return None
            words = text.split()
            predicate = range(_SUBJECT_LENGTH, len(words) - 1)
            number = int(rng.integers(2, len(predicate) + 1))
            hidden = set(rng.choice(list(predicate), size=number, replace=False).tolist())
            prompt = " ".join(MASK if index in hidden else word for index, word in enumerate(words))
            return Item(prompt, None, text)

        return distinct_items(draw, count)

    def score(self, item: Item, text: str) -> Score:
        words = text.split()
        shown = item.prompt.split()
        kept = len(words) == len(shown) and all(s in (MASK, w) for s, w in zip(shown, words, strict=True))
        return Score(kept and " ".join(words) in self._grammatical)

    def vocabulary(self) -> set[str]:
        return {word for text in (*SUBJECTS, *PREDICATES) for word in text.split()}
