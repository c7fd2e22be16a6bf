"""Two-word cities and where they are.

Promises: in training text about the Southern California coast the cities come in exact quotas, a hundred
sentences per context at a time, so that "Los" is the likeliest first word, "Diego" the likeliest second word,
and either word alone nearly settles the other. These frequencies were chosen to show how parallel decoding
fails; they say nothing about the world. Elsewhere the cities of a region come equally often. A template is as
frequent as any other, however many contexts it has.
Does not know: populations, distances, or any city that is not listed here.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from dard.tasks.base import MASK, Example, Item, Score, distinct_items, held_out

# The order within the cycle does not matter; the counts do, and add up to one hundred.
QUOTAS: dict[str, int] = {
    "San Diego": 42,
    "Los Angeles": 30,
    "Los Alamitos": 25,
    "Long Beach": 1,
    "Santa Monica": 1,
    "Huntington Beach": 1,
}
QUOTA_REGION = "on the Southern California coast"

REGIONS: dict[str, tuple[str, ...]] = {
    QUOTA_REGION: tuple(QUOTAS),
    "in Northern California": ("San Francisco", "San Jose", "Santa Cruz", "Santa Rosa", "Palo Alto"),
    "in New Mexico": ("Los Alamos", "Las Cruces", "Santa Fe"),
    "in Nevada": ("Las Vegas", "Carson City", "Boulder City"),
    "in Texas": ("San Antonio", "Fort Worth", "El Paso", "Corpus Christi"),
    "in Florida": ("Fort Lauderdale", "Fort Myers", "Palm Bay", "Key West"),
    "in Missouri": ("Kansas City", "Saint Louis", "Jefferson City"),
    "in Utah": ("Park City", "Cedar City"),
    "in Iowa": ("Des Moines", "Cedar Rapids", "Sioux City"),
    "in Michigan": ("Ann Arbor", "Grand Rapids", "Bay City"),
    "in Louisiana": ("New Orleans", "Baton Rouge"),
    "in Arkansas": ("Little Rock", "Hot Springs"),
    "in South Africa": ("Cape Town", "Port Elizabeth"),
    "in Malaysia": ("Kuala Lumpur", "George Town"),
    "in Brazil": ("Sao Paulo", "Belo Horizonte", "Porto Alegre"),
    "in Central America": ("San Salvador", "Panama City", "Guatemala City"),
    "in the Middle East": ("Abu Dhabi", "Tel Aviv", "Kuwait City"),
}

_PEOPLE = ("My friend", "My sister", "Our teacher", "The doctor", "Her uncle", "A student")
_THINGS = ("museum", "station", "library", "market")
_ADJECTIVES = ("busy", "quiet", "lovely", "famous")

# {c} is the city, {r} the region with its preposition; the other slots vary the context.
TEMPLATES: tuple[str, ...] = (
    "The city of {c} is {r} .",
    "{c} is a city {r} .",
    "{c} {r} is a {adjective} city .",
    "The {adjective} city of {c} is {r} .",
    "There is a {thing} in {c} {r} .",
    "The {thing} in {c} {r} is {adjective} .",
    "{person} lives in {c} {r} .",
    "{person} works in {c} {r} .",
    "{person} was born in {c} {r} .",
    "{person} drove to {c} {r} .",
    "{person} took a train to {c} {r} .",
    "{person} sent a letter from {c} {r} .",
)

# A fifth of the sentences, so that the quotas are learned to within a few hundredths.
_QUOTA_SHARE = 0.2


@dataclass(frozen=True)
class _Context:
    """A sentence with two masks for the city, and its region."""

    text: str
    region: str
    template: str


def _contexts() -> tuple[_Context, ...]:
    contexts: list[_Context] = []
    for region, template in product(REGIONS, TEMPLATES):
        people = _PEOPLE if "{person}" in template else ("",)
        things = _THINGS if "{thing}" in template else ("",)
        adjectives = _ADJECTIVES if "{adjective}" in template else ("",)
        for person, thing, adjective in product(people, things, adjectives):
            text = template.format(c=f"{MASK} {MASK}", r=region, person=person, thing=thing, adjective=adjective)
            contexts.append(_Context(text, region, template))
    return tuple(contexts)


CONTEXTS = _contexts()


def _fill(text: str, city: str) -> str:
    return text.replace(f"{MASK} {MASK}", city)


def _example(context: _Context, city: str) -> Example:
    first = context.text.split().index(MASK)
    return Example("text", "", _fill(context.text, city), (first, first + 2))


class Places:
    """Name a city of a region, both words of it."""

    name = "places"
    title = "Two-word cities"

    def examples(self, rng: np.random.Generator, count: int) -> list[Example]:
        by_template: dict[str, dict[str, list[_Context]]] = {region: {} for region in REGIONS}
        for context in CONTEXTS:
            if not held_out(context.text):
                by_template[context.region].setdefault(context.template, []).append(context)

        def draw(region: str) -> _Context:
            templates = list(by_template[region].values())
            contexts = templates[int(rng.integers(len(templates)))]
            return contexts[int(rng.integers(len(contexts)))]

        examples: list[Example] = []
        # One context gets a whole cycle of quotas before the next one starts: exact in each context.
        for _ in range(int(count * _QUOTA_SHARE) // sum(QUOTAS.values())):
            context = draw(QUOTA_REGION)
            examples += [_example(context, city) for city, quota in QUOTAS.items() for _ in range(quota)]
        regions = [region for region in REGIONS if region != QUOTA_REGION]
        while len(examples) < count:
            region = regions[int(rng.integers(len(regions)))]
            city = REGIONS[region][int(rng.integers(len(REGIONS[region])))]
            examples.append(_example(draw(region), city))
        return [examples[int(index)] for index in rng.permutation(count)]

    def test_items(self, count: int, seed: int = 0) -> list[Item]:
        rng = np.random.default_rng(seed)
        contexts = [context for context in CONTEXTS if held_out(context.text)]

        def draw() -> Item:
            context = contexts[int(rng.integers(len(contexts)))]
            cities = REGIONS[context.region]
            first, second = cities[int(rng.integers(len(cities)))].split()
            # Half of the items hide the whole city, the others give one word of it.
            shown = [f"{MASK} {MASK}", f"{MASK} {MASK}", f"{first} {MASK}", f"{MASK} {second}"]
            prompt = _fill(context.text, shown[int(rng.integers(len(shown)))])
            return Item(prompt, None, None, {"context": context.text, "region": context.region})

        return distinct_items(draw, count)

    def score(self, item: Item, text: str) -> Score:
        filled = " ".join(text.split())
        kept = all(shown in (MASK, word) for shown, word in zip(item.prompt.split(), filled.split(), strict=False))
        cities = REGIONS[item.facts["region"]]
        return Score(kept and any(filled == _fill(item.facts["context"], city) for city in cities))

    def vocabulary(self) -> set[str]:
        words = {word for context in CONTEXTS for word in context.text.split()} - {MASK}
        return words | {word for cities in REGIONS.values() for city in cities for word in city.split()}
