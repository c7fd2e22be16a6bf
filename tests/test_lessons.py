"""What the guided tour says, asks and answers is true of the embedded model with the settings each page shows.

A page's `claims` (tests/claims.py) are about the decode it shows, about its `lane`, or (`versus`) about the same prompt
with other settings. Every sentence of a caption and of an answer has one.
"""

from __future__ import annotations

import itertools
from functools import cache
from typing import Any

import pytest

import dard
from dard.tasks.judge import judge
from tests.claims import holds, unsaid
from visual.server.cases import lessons

LESSONS = {lesson["name"]: lesson for lesson in lessons()}
PROMPTS = {lesson["name"]: lesson["show"]["prompt"] for lesson in lessons()}
STATED = {"tau_c": 0.4, "tau_u": 0.5}
MOST_WORDS = 60


@cache
def model() -> Any:
    return dard.load_model("embedded")


def traces(name: str) -> list[dard.Trace]:
    """The decodes a page shows, one per lane."""
    show = LESSONS[name]["show"]
    return [decode(show["prompt"], lane["decoder"], **lane["settings"]) for lane in show.get("lanes") or [show]]


@cache
def decode(prompt: str, decoder: str, **settings: Any) -> dard.Trace:
    return dard.decode(model(), prompt, decoder, **settings)


def test_twelve_pages_and_what_links_of_earlier_versions_lead_to() -> None:
    names = list(LESSONS)
    assert len(names) == 12 and all(name.isalpha() and name.islower() for name in names)
    was = [each for lesson in LESSONS.values() for each in lesson["was"]]
    assert sorted(each for each in was if isinstance(each, int)) == list(range(1, 13))
    earlier = {
        "blanks",
        "together",
        "revoked",
        "shadow",
        "states",
        "witness",
        "weight",
        "thresholds",
        "depth",
        "causes",
    }
    assert earlier | {"lost", "endings", "rivals"} <= set(names) | set(was)


@pytest.mark.parametrize("name", LESSONS)
def test_a_page_is_short_has_the_same_thresholds_and_points_into_its_own_decode(name: str) -> None:
    lesson = LESSONS[name]
    assert len(" ".join(lesson["caption"]).split()) <= MOST_WORDS
    for lane in lesson["show"].get("lanes") or [lesson["show"]]:
        if lane["decoder"] == "dard":
            assert STATED.items() <= lane["settings"].items()
    found = traces(name)[lesson["ask"]["then"].get("lane", 0)]
    for place in (lesson["show"], lesson["ask"]["then"]):
        assert place["position"] < len(found.fixed) and not found.fixed[place["position"]]
    assert lesson["show"]["step"] <= found.num_steps
    assert all(not found.fixed[i] for i in lesson["focus"])


def test_a_term_is_explained_on_one_page_before_it_is_used() -> None:
    """A term is bold where it is explained; nowhere before that page is it in a caption or a question."""
    told = [(name, " ".join([*page["caption"], page["ask"]["question"]])) for name, page in LESSONS.items()]
    explained = [(term, number) for number, (_, text) in enumerate(told) for term in text.split("**")[1::2]]
    assert len({term for term, _ in explained}) == len(explained) >= 12
    for term, number in explained:
        for name, text in told[:number]:
            words = text.lower().replace(",", " ").replace(".", " ").split()
            assert term.lower() not in words, f"{name} says {term!r}, which page {number + 1} explains"


@pytest.mark.parametrize("name", LESSONS)
def test_what_a_page_says_is_true_of_what_it_shows(name: str) -> None:
    lesson = LESSONS[name]
    show, found = lesson["show"], traces(name)
    said = [*lesson["caption"], lesson["ask"]["answer"]]
    assert [unsaid(text, lesson["claims"]) for text in said] == [[] for _ in said]
    for claim in lesson["claims"]:
        assert claim["says"] in " ".join([*said, lesson["ask"]["question"]])
        checks = {key: value for key, value in claim.items() if key not in ("versus", "versus_prompt", "of_all")}
        trace = found[claim.get("lane", 0)]
        if "versus" in claim:
            trace = decode(show["prompt"], show["decoder"], **(show["settings"] | claim["versus"]))
        if "versus_prompt" in claim:
            trace = traces(claim["versus_prompt"])[0]
        if "of_all" in claim:
            page, right, passes = (claim["of_all"][key] for key in ("page", "right", "passes"))
            others = [
                decode(PROMPTS[page], lane["decoder"], **lane["settings"], gen_length=16) for lane in show["lanes"]
            ]
            assert [one.num_steps for one in others] == passes
            assert all(judge(one.prompt, one.text) is right for one in others)
        elif set(checks) != {"says"}:  # a sentence about the page or about diffusion models in general
            assert holds(checks, trace), f"{claim} of {trace.text!r}, {[step.states for step in trace.steps]}"


def test_the_cheapest_right_pair_of_thresholds_and_the_wrong_ones() -> None:
    """Page 4: of τ_c .1 to .9 by .1 and τ_u up to .95 by .05, exactly those with τ_u at .45 or less are wrong."""
    pairs = [(c / 100, u / 100) for c, u in itertools.product(range(10, 100, 10), range(10, 100, 5)) if c <= u]
    found = {pair: decode(PROMPTS["thresholds"], "dard", tau_c=pair[0], tau_u=pair[1]) for pair in pairs}
    right = {pair: trace.num_steps for pair, trace in found.items() if judge(trace.prompt, trace.text)}
    assert {pair for pair in pairs if pair not in right} == {pair for pair in pairs if pair[1] <= 0.45}
    assert min(right.values()) == right[(0.5, 0.5)] == 2 and max(right.values()) == 5


def test_no_shadow_sees_the_token_it_judges() -> None:
    [trace] = traces("shadow")
    mask = trace.steps[1].mask
    assert mask is not None
    length = len(mask) // 2
    for position in range(length):
        assert not mask[length + position][position] and mask[length + position][length + position]
