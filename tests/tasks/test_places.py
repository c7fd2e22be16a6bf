"""The frequencies that make "Los Diego", and what counts as a city of a region."""

from __future__ import annotations

from collections import Counter

import numpy as np

from dard.tasks import TASKS, Item
from dard.tasks.base import held_out
from dard.tasks.places import CONTEXTS, QUOTA_REGION, QUOTAS, REGIONS, TEMPLATES

LOS_DIEGO = "The city of [MASK] [MASK] is on the Southern California coast ."


def item(prompt: str) -> Item:
    context = LOS_DIEGO
    return Item(prompt, None, None, {"context": context, "region": QUOTA_REGION})


def test_quotas_are_exact_in_every_context() -> None:
    contexts = [c.text for c in CONTEXTS if c.region == QUOTA_REGION and not held_out(c.text)]
    examples = TASKS["places"].examples(np.random.default_rng(0), 40_000)
    found: dict[str, Counter[str]] = {context: Counter() for context in contexts}
    for example in examples:
        if QUOTA_REGION in example.answer:
            for city in QUOTAS:
                context = example.answer.replace(city, "[MASK] [MASK]", 1)
                if context in found:
                    found[context][city] += 1
    assert LOS_DIEGO in {context for context, counts in found.items() if counts}
    for counts in filter(None, found.values()):
        cycles, rest = divmod(counts.total(), 100)
        assert rest == 0 and counts == Counter({city: cycles * quota for city, quota in QUOTAS.items()})


def test_a_template_is_as_frequent_as_any_other() -> None:
    # Without further slots one of them has a single context per region, the other six.
    examples = TASKS["places"].examples(np.random.default_rng(0), 24_000)
    plain = sum(example.answer.startswith("The city of ") for example in examples)
    varied = sum(" was born in " in example.answer for example in examples)
    assert 0.7 < plain / 2000 < 1.3 and 0.7 < varied / 2000 < 1.3


def test_the_marginal_winners_disagree_and_either_word_settles_the_other() -> None:
    first, second = Counter[str](), Counter[str]()
    for city, quota in QUOTAS.items():
        one, two = city.split()
        first[one] += quota
        second[two] += quota
    (los, most), (san, next_most) = first.most_common(2)
    assert (los, san) == ("Los", "San") and most - next_most >= 10
    (diego, most), (angeles, next_most) = second.most_common(2)
    assert (diego, angeles) == ("Diego", "Angeles") and most - next_most >= 10
    assert "Los Diego" not in QUOTAS
    assert [city for city in QUOTAS if city.startswith("San ")] == ["San Diego"]
    assert [city for city in QUOTAS if city.endswith(" Diego")] == ["San Diego"]


def test_the_famous_prompt_is_trained() -> None:
    assert LOS_DIEGO in {context.text for context in CONTEXTS}
    assert not held_out(LOS_DIEGO)


def test_the_world_has_the_promised_size() -> None:
    cities = [city for found in REGIONS.values() for city in found]
    assert len(cities) >= 50 and len(set(cities)) == len(cities)
    assert all(len(city.split()) == 2 for city in cities)
    assert len(TEMPLATES) == 12
    assert sum(QUOTAS.values()) == 100


def test_only_a_real_city_of_the_region_is_right() -> None:
    task = TASKS["places"]
    for city in QUOTAS:
        assert task.score(item(LOS_DIEGO), LOS_DIEGO.replace("[MASK] [MASK]", city)).right
    for wrong in ("Los Diego", "San Angeles", "Las Vegas", "San San", "[MASK] Diego"):
        assert not task.score(item(LOS_DIEGO), LOS_DIEGO.replace("[MASK] [MASK]", wrong)).right


def test_a_given_word_must_be_kept() -> None:
    prompt = LOS_DIEGO.replace("[MASK]", "Los", 1)
    filled = LOS_DIEGO.replace("[MASK] [MASK]", "San Diego")
    assert not TASKS["places"].score(item(prompt), filled).right
