"""What serving engines tell, read as traces: maps of steps that count anew in every block, and lines of steps."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dard
from dard.cli import main as command_line
from dard.trace.readers import from_step_map, read
from dard.trace.served import count_on
from tests.test_recording import states_of

MASK = 0


def lines(*each: dict[str, Any]) -> bytes:
    return "\n".join(json.dumps(line) for line in each).encode()


# Maps of steps.


def response(steps: list[int], prompt: int = 5, **more: Any) -> dict[str, Any]:
    """As SGLang's Engine.generate gives it with return_step_maps."""
    meta = {"id": "r", "prompt_tokens": prompt, "completion_tokens": len(steps), "step_maps": steps}
    return {"text": "…", "output_ids": list(range(1, len(steps) + 1)), "meta_info": meta, **more}


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_steps_that_count_anew_in_every_block_become_one_count(data: st.DataObject) -> None:
    """Against a loop over blocks, each decoded after those before it."""
    size, prompt = data.draw(st.integers(1, 5)), data.draw(st.integers(0, 12))
    steps, expected, made = [], [], 0
    place, left = prompt, data.draw(st.integers(1, 14))
    while left:
        block = min(left, size - place % size)
        own = data.draw(st.lists(st.integers(1, block), min_size=block, max_size=block))
        steps += own
        expected += [made + step for step in own]
        made += max(own)
        place, left = place + block, left - block
    assert count_on(steps, size, prompt) == expected
    [trace] = read(json.dumps(response(steps, prompt)).encode(), mask_id=MASK, block_size=size)
    assert states_of(trace) == states_of(from_step_map(expected, list(range(1, len(steps) + 1)), MASK))


def test_a_batch_of_responses_gives_a_trace_each_with_its_prompt() -> None:
    both = [response([1, 2, 2, 1], prompt=6, input_ids=[9] * 6), response([1, 1], prompt_tokens=[8, 8, 8])]
    one, other = read(json.dumps(both).encode(), mask_id=MASK, words={9: "a"}, block_size=4)
    assert one.prompt_tokens == [9] * 6 and one.prompt == "a a a a a a" and one.tokens == [1, 2, 3, 4]
    assert [step.decided for step in one.steps] == [[0], [1], [3], [2]]
    assert other.prompt_tokens == [8] * 3 and [step.decided for step in other.steps] == [[0], [1]]


def test_how_long_a_block_is_is_known_of_the_models_that_sglang_serves_and_asked_for_otherwise() -> None:
    steps, told = [1, 2, 1, 1], {"prompt": 3}
    for mask_id, decided in ((156895, [[0, 2, 3], [1]]), (151669, [[0], [2, 3], [1]])):
        [trace] = read(json.dumps(response(steps, **told)).encode(), mask_id=mask_id)
        assert [step.decided for step in trace.steps] == decided
    with pytest.raises(dard.InputError, match=r"tell how long a block is \(--block-size, or block_size\)"):
        read(json.dumps(response(steps)).encode(), mask_id=MASK)


# Lines of steps.

PROMPT = [5, 6]
OURS = [
    {"request": "a", "block": 0, "mask_id": MASK, "before": [5, 6, 0, 0], "after": [5, 6, 0, 8],
     "probabilities": [None, None, 0.3, 0.9]},
    {"request": "b", "block": 1, "before": [0, 0, 0, 0], "after": [1, 0, 0, 0]},
    {"request": "a", "block": 0, "before": [5, 6, 0, 8], "after": [5, 6, 7, 9],
     "probabilities": [None, None, 0.8, 0.6]},
    {"request": "a", "block": 1, "before": [0, 0, 0, 0], "after": [4, 4, 4, 4]},
]  # fmt: skip


def test_lines_of_steps_become_a_trace_per_request() -> None:
    one, other = read(lines(*OURS))
    assert one.about.title == "a" and one.prompt_tokens == PROMPT and other.prompt_tokens == []
    assert states_of(one) == [
        [5, 6, 0, 0, 0, 0, 0, 0],
        [5, 6, 0, 8, 0, 0, 0, 0],
        [5, 6, 7, 9, 0, 0, 0, 0],
        [5, 6, 7, 9, 4, 4, 4, 4],
    ]
    assert [step.block for step in one.steps] == [(0, 2), (0, 2), (2, 6)]
    assert one.steps[0].confidence[:2] == [0.3, 0.9] and one.steps[1].replaced == [1]
    assert one.steps[2].confidence == [0.8, 0.6, None, None, None, None]
    assert dard.Trace.from_bytes(one.to_bytes()).steps == one.steps


def test_blocks_may_be_told_by_where_they_begin_and_the_prompt_before_them_too() -> None:
    at = [{**line, "block": 32 + 4 * line["block"], "prompt_tokens": [*range(40, 72), 5, 6]} for line in OURS]
    counted = [{**line, "block": 8 + old["block"]} for line, old in zip(at, OURS, strict=True)]
    told = [{"offset": line["block"], **{k: v for k, v in line.items() if k != "block"}} for line in at]
    for each in (at, counted, told):
        one = read(lines(*each))[0]
        assert one.prompt_tokens == [*range(40, 72), 5, 6] and one.tokens == [7, 9, 4, 4, 4, 4]


def patched(**more: Any) -> dict[str, Any]:
    """A line as a patch of SGLang's JointThreshold writes it."""
    line = {"run_id": "1", "request_id": "q", "dllm_block_offset": 32, "dllm_block_index": 8, "batch_index": 0}
    return line | {"block_size": 4, "threshold": 0.7, "edit_threshold": 0.5, "max_post_edit_steps": 16} | more


def change(place: int, old: int, new: int, prob: float) -> dict[str, Any]:
    return {"type": "edit", "block_offset": place, "old_token_id": old, "new_token_id": new, "prob": prob}


PATCHED = [
    patched(
        mask_fills=[change(1, 0, 7, 0.9)],
        edits=[],
        proposals=[
            {"block_offset": 1, "proposal_type": "m2t", "p_old": 0.0, "p_new": 0.9, "accepted_update": True},
            {"block_offset": 2, "proposal_type": "m2t", "p_old": 0.0, "p_new": 0.4, "accepted_update": False},
        ],
        block_token_ids_before=[5, 0, 0, 0],
        block_token_ids=[5, 7, 0, 0],
    ),
    patched(mask_fills=[change(2, 0, 8, 0.8), change(3, 0, 9, 0.75)], edits=[change(1, 7, 6, 0.6)]),  # no snapshot
    patched(mask_fills=[], edits=[], remasks=[change(3, 9, 0, 0.2)], block_token_ids=[5, 6, 8, 0]),
]


def test_a_patch_that_traces_is_read_with_its_numbers_and_its_mask() -> None:
    [trace] = read(lines(*PATCHED))
    assert trace.mask_id == MASK and trace.prompt_tokens == [5] and trace.about.title == "q"
    assert states_of(trace) == [[5, 0, 0, 0], [5, 7, 0, 0], [5, 6, 8, 9], [5, 6, 8, 0]]
    first, second, third = trace.steps
    assert first.confidence == [0.9, 0.4, None] and second.confidence == [0.6, 0.8, 0.75]
    assert (second.replaced, third.demoted) == ([0], [2]) and trace.settings["edit_threshold"] == 0.5
    assert states_of(read(json.dumps(PATCHED).encode())[0]) == states_of(trace)  # as one list, too


BAD: dict[str, tuple[Any, str]] = {
    "a line of another block": ([{**OURS[0], "block": "x"}], "line 1 does not say which block it is of"),
    "a step that does not follow": ([OURS[0], OURS[0]], "line 2: block 0 begins with other ids than the line before"),
    "a block that grows": ([{**OURS[0], "after": [5, 6, 0]}], "line 1: block 0 begins with other ids"),
    "no ids before": ([{"block": 0, "mask_id": 0, "after": [5]}], "line 1 does not say what its block held before"),
    "ids that are a text": ([{**OURS[0], "before": "xx"}], "line 1 does not say what its block held before"),
    "no list after": ([{**OURS[0], "after": 5}], "line 1 does not say what its block held after"),
    "an id that is none": ([{**OURS[0], "after": [5, 6, 0, "x"]}], "holds 'x'; a token id is from 0 to"),
    "too few numbers": ([{**OURS[0], "probabilities": [1]}], "line 1: probabilities is not a list of 4"),
    "a number above one": ([{**OURS[0], "probabilities": [7, 1, 1, 1]}], "holds '7'; it is from 0 to 1"),
    "no mask": ([{"block": 0, "before": [0], "after": [1]}], "no line names one; tell it"),
    "fills that are none": ([patched(mask_fills=5)], "mask_fills is not a list of objects"),
    "a fill elsewhere": ([{**PATCHED[0], "block_token_ids": None, "mask_fills": [change(9, 0, 1, 1)]}], "outside the"),
    "a snapshot that is missing": (PATCHED[1:2], "line 1 does not say what its block held before"),
    "steps from nought": (response([0, 1], block_size=4), "step_maps is not a list of steps, each from 1"),
    "no steps": ({"output_ids": [1], "meta_info": {}}, "a response has no step_maps in its meta_info"),
    "a block of nothing": (response([1], block_size=0), "block_size = '0' is not allowed"),
    "another number of tokens": (response([1, 1], block_size=4) | {"output_ids": [1]}, "a step_map needs tokens"),
    "no prompt": ({"output_ids": [1], "meta_info": {"step_maps": [1]}, "block_size": 4}, "tell where the prompt ends"),
}  # fmt: skip


@pytest.mark.parametrize("kind", BAD)
def test_what_cannot_be_read_is_refused_in_one_sentence(kind: str) -> None:
    body, sentence = BAD[kind]
    with pytest.raises(dard.InputError) as caught:
        read(lines(*body) if isinstance(body, list) else json.dumps(body | {"mask_id": MASK}).encode())
    assert sentence in str(caught.value) and "\n" not in str(caught.value)


def test_more_states_than_a_trace_has_room_for_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dard.trace.served.MAX_CELLS", 20)
    with pytest.raises(dard.InputError, match="3 steps over 8 positions are too many for one trace"):
        read(lines(*OURS))


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["block_offset", "x"]), inner),
    max_leaves=6,
)


@settings(max_examples=150, deadline=None)
@given(value=VALUES, key=st.sampled_from([*OURS[0], *PATCHED[0], "prompt_tokens", "words", "meta_info", "output_ids"]))
def test_any_value_in_any_place_is_read_or_refused(value: Any, key: str) -> None:
    for body in (lines(OURS[0] | {key: value}, OURS[2]), lines(*[each | {key: value} for each in PATCHED]),
                 json.dumps(response([1, 1], block_size=4) | {key: value}).encode()):  # fmt: skip
        try:
            for trace in read(body, mask_id=MASK):
                dard.Trace.from_bytes(trace.to_bytes())
        except dard.InputError as error:
            assert "\n" not in str(error)


def test_the_command_shows_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "steps.jsonl").write_bytes(lines(*OURS))
    page = tmp_path / "page.html"
    assert command_line.main(["view", str(tmp_path / "steps.jsonl"), "--out", str(page)]) == 0 and page.exists()
    (tmp_path / "map.json").write_text(json.dumps(response([1, 2, 1, 1])))
    asked = ["view", str(tmp_path / "map.json"), "--mask-id", "0", "--out", str(page)]
    assert command_line.main(asked) == 2 and "--block-size" in capsys.readouterr().err
    assert command_line.main([*asked, "--block-size", "4"]) == 0
