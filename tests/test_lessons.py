"""What the guided tour asks and answers is true of the embedded model with the settings each page shows."""

from __future__ import annotations

from typing import Any

import pytest

import dard
from dard.attention import contaminated
from dard.tasks.judge import judge
from visual.payload import header
from visual.service import lane_names, lessons

LESSONS = {lesson["title"]: lesson for lesson in lessons()}


@pytest.fixture(scope="module")
def model() -> Any:
    return dard.load_model("embedded")


def traces(model: Any, title: str) -> list[dard.Trace]:
    """The decodes a page shows, one per lane."""
    show = LESSONS[title]["show"]
    lanes = show.get("lanes") or [show]
    return [dard.decode(model, show["prompt"], lane["decoder"], **lane["settings"]) for lane in lanes]


@pytest.mark.parametrize("title", LESSONS)
def test_a_page_points_into_its_own_decode(title: str, model: Any) -> None:
    lesson = LESSONS[title]
    found = traces(model, title)[lesson["reveal"].get("lane", 0)]
    for place in (lesson["show"], lesson["reveal"]):
        assert place["position"] < len(found.fixed) and not found.fixed[place["position"]]
    assert lesson["show"]["step"] <= found.num_steps


def test_both_words_are_decided_in_one_pass_and_name_no_city(model: Any) -> None:
    for title in ("A model that fills masks", "Why deciding together fails"):
        [trace] = traces(model, title)
        assert trace.num_steps == 1 and trace.steps[0].decided == [3, 4]
        assert "Los Diego" in trace.text


def test_the_revoking_lane_revokes_three_digits_of_which_one_was_wrong(model: Any) -> None:
    standard, wino = traces(model, "Taking words back")
    assert standard.num_steps == wino.num_steps == 3
    assert not any(step.demoted for step in standard.steps)
    assert judge(standard.prompt, standard.text) is False and judge(wino.prompt, wino.text) is True
    before, second, last = wino.steps
    assert second.demoted == [8, 11, 12] and not last.demoted
    assert {wino.word(before.tokens[cell]) for cell in second.demoted} == {"4"}
    assert [cell for cell in second.demoted if last.tokens[cell] != before.tokens[cell]] == [8]
    assert standard.text.split()[8:12].count("4") == 2


def test_no_shadow_sees_the_token_it_judges(model: Any) -> None:
    [trace] = traces(model, "A shadow to verify with")
    mask = trace.steps[1].mask
    assert mask is not None
    length = len(mask) // 2
    for position in range(length):
        assert not mask[length + position][position] and mask[length + position][length + position]


def test_both_words_enter_as_candidates(model: Any) -> None:
    [trace] = traces(model, "Three states")
    assert trace.steps[0].states[3:5] == "CC"


def test_the_surer_word_stays_and_was_in_view(model: Any) -> None:
    [trace] = traces(model, "The surer one is the witness")
    first, second = trace.steps[:2]
    assert first.confidence[3] > first.confidence[4]
    assert second.demoted == [4] and second.mask is not None
    length = len(second.mask) // 2
    assert second.mask[length + 4][3] and not second.mask[length + 3][4]


def test_the_path_without_candidates_wins_after_a_demotion(model: Any) -> None:
    [trace] = traces(model, "Two predictions and a weight")
    reveal = LESSONS["Two predictions and a weight"]["reveal"]
    step, position = trace.steps[reveal["step"] - 1], reveal["position"]
    of_x, of_s = step.top["x"].at(position)[0][0], step.top["s"].at(position)[0][0]
    assert of_x != of_s and step.tokens[position] == of_s
    assert step.demoted and (step.weights[position] or 0) < 0.5
    calm = next(step for step in trace.steps if not step.demoted)
    assert all(weight in (None, 1.0) for weight in calm.weights)


def test_careful_thresholds_need_more_passes(model: Any) -> None:
    careful, fast = traces(model, "Thresholds: speed against quality")
    assert (careful.num_steps, fast.num_steps) == (5, 3)
    assert judge(careful.prompt, careful.text) is True and judge(fast.prompt, fast.text) is False
    assert fast.text.split()[:4].count("1") == 2


def test_lanes_of_one_decoder_are_told_apart_in_running_text(model: Any) -> None:
    show = LESSONS["Thresholds: speed against quality"]["show"]
    sessions = [dard.Session(model, show["prompt"], lane["decoder"], **lane["settings"]) for lane in show["lanes"]]
    names = lane_names(sessions)
    assert names == ["DARD τ_c 0.6 τ_u 0.8", "DARD τ_c 0.4 τ_u 0.5"]
    assert header(sessions[0].trace, names[0])["name"] == names[0]


def test_the_hidden_candidate_reaches_the_verification_through_depth(model: Any) -> None:
    [trace] = traces(model, "What the mask does not stop")
    assert (6, 11, 2) in contaminated(trace.steps[1])


def test_two_pairs_go_round_and_reopening_both_settles_them(model: Any) -> None:
    accept, reopen = traces(model, "How a decode ends")
    assert accept.ended_by == reopen.ended_by == "period 2"
    assert [step.demoted for step in accept.steps[1:4]] == [[11, 15], [9, 13], [11, 15]]
    assert accept.steps[3].states == accept.steps[1].states and accept.steps[3].tokens == accept.steps[1].tokens
    moved = [i for i, letter in enumerate(reopen.steps[3].states) if letter == "M"]
    assert moved == [9, 11, 13, 15]
    assert judge(accept.prompt, accept.text) is False and judge(reopen.prompt, reopen.text) is True
    assert accept.text.split()[1::4].count("4") == 2
