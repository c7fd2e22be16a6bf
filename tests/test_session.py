"""A session steps, goes back, branches and stops; the original is never changed."""

from __future__ import annotations

import threading
from typing import Any

import pytest
import torch

import dard
from dard.decoding.loop import passes
from dard.models.base import Answer, Question
from dard.models.scripted import LOS_DIEGO, los_diego
from tests.helpers import ALL_DECODERS, without_times
from tests.tiny import MASK_ID, random_model, scripted

SOFT = {"dard": {"tau_c": 0.3, "tau_u": 0.6}, "wino": {"threshold": 0.4}, "threshold": {"threshold": 0.4}}


def session_of(decoder: str = "dard", seed: int = 1, **changes: Any) -> dard.Session:
    settings = {"gen_length": 9, "block_length": 5} | SOFT.get(decoder, {}) | changes
    return dard.Session(random_model(seed), [5, 6, 7], decoder, **settings)


# Going on.


@pytest.mark.parametrize("decoder", ALL_DECODERS)
def test_stepping_to_the_end_is_running(decoder: str) -> None:
    one, other = session_of(decoder), session_of(decoder)
    while not one.finished:
        one.step()
    assert without_times(one.trace) == without_times(other.run())
    assert one.trace.finished and one.trace.ended_by
    assert one.trace.num_steps == len(one.steps) == one.trace.steps[-1].index


def test_a_finished_decode_refuses_another_step() -> None:
    session = session_of()
    trace = session.run()
    with pytest.raises(ValueError, match="finished after"):
        session.step()
    assert without_times(session.run()) == without_times(trace)


def test_on_step_hears_every_step_in_order() -> None:
    heard: list[int] = []
    trace = session_of().run(lambda step: heard.append(step.index))
    assert heard == list(range(1, trace.num_steps + 1))


@pytest.mark.parametrize("decoder", ALL_DECODERS)
def test_not_recording_gives_the_same_tokens_and_states(decoder: str) -> None:
    recorded, bare = session_of(decoder).run(), session_of(decoder, record=False).run()
    assert [s.tokens for s in recorded.steps] == [s.tokens for s in bare.steps]
    assert [s.states for s in recorded.steps] == [s.states for s in bare.steps]
    assert [s.confidence for s in recorded.steps] == [s.confidence for s in bare.steps]
    assert all(s.why or not s.decided for s in recorded.steps)
    assert not any(s.top or s.why or s.mask is not None for s in bare.steps)


# Seeds.


@pytest.mark.parametrize("decoder", ALL_DECODERS)
def test_the_same_seed_gives_the_same_result_and_another_seed_another(decoder: str) -> None:
    first = session_of(decoder, temperature=1.5, seed=11)
    second = session_of(decoder, temperature=1.5, seed=11)
    assert without_times(first.run()) == without_times(second.run())
    others = {tuple(session_of(decoder, temperature=1.5, seed=k).run().tokens) for k in range(5)}
    assert len(others) > 1
    assert all(MASK_ID not in tokens for tokens in others)


@pytest.mark.parametrize("decoder", ALL_DECODERS)
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_a_step_is_pure_undo_and_step_gives_the_identical_step(decoder: str, temperature: float) -> None:
    session = session_of(decoder, temperature=temperature)
    for _ in range(3):
        if session.finished:
            break
        session.step()
        before = without_times(session.trace)
        session.undo()
        session.step()
        assert without_times(session.trace) == before


# Going back.


def test_undo_to_the_start_and_no_further() -> None:
    session = session_of()
    start = without_times(session.trace)
    session.run()
    while session.steps:
        session.undo()
    assert without_times(session.trace) == start
    with pytest.raises(ValueError, match="no step to undo"):
        session.undo()


@pytest.mark.parametrize("decoder", ALL_DECODERS)
def test_a_branch_without_an_edit_goes_the_way_of_the_original(decoder: str) -> None:
    session = session_of(decoder)
    trace = session.run()
    original = trace.to_bytes()
    for k in range(trace.num_steps + 1):
        branch = session.at(k)
        assert len(branch.steps) == k
        assert without_times(branch.run()) == without_times(trace)
    assert session.trace.to_bytes() == original


@pytest.mark.parametrize("step", [-1, 99, True, 1.0, "1", None])
def test_only_steps_that_were_made_can_be_jumped_to(step: Any) -> None:
    session = session_of()
    session.step()
    with pytest.raises(ValueError, match=r"step = .* must be a whole number from 0 to 1"):
        session.at(step)


# What-if.


@pytest.mark.parametrize("decoder", ALL_DECODERS)
def test_the_original_never_changes(decoder: str) -> None:
    session = session_of(decoder)
    for _ in range(2):
        session.step()
    before, state = session.trace.to_bytes(), session.state
    for k in range(3):
        branch = session.at(k).edit(8, token=9, state="U")
        branch.run()
        branch.undo()
        session.at(k).edit(0, state="M").run()
        assert session.trace.to_bytes() == before and session.state is state
    session.edit(3, token=20).cancel()
    session.step()
    assert session.trace.num_steps == 3


def test_an_edited_token_is_decoded_around() -> None:
    session = dard.Session(los_diego(), LOS_DIEGO, decoder="dard", tau_c=0.4, tau_u=0.8)
    session.step()
    assert session.at(1).edit(4, token="Angeles", state="U").run().text.startswith("The city of Los Angeles")
    assert session.at(1).edit(3, token="San", state="U").run().text.startswith("The city of San Diego")
    assert session.at(0).edit(3, token="Los", state="U").run().text.startswith("The city of Los Angeles")


def test_an_edit_is_written_into_the_step_or_into_the_start() -> None:
    session = dard.Session(los_diego(), LOS_DIEGO, decoder="dard", tau_c=0.4, tau_u=0.8)
    session.step()
    later = session.edit(3, token="San", state="U").trace
    assert later.steps[0].edited == [3] and later.start.edited == []
    assert later.word(later.steps[0].tokens[3]) == "San" and later.steps[0].states[3] == "U"
    first = session.at(0).edit(3, token="San").edit(4, token="Diego", state="U").trace
    assert first.start.edited == [3, 4] and first.start.states[3:5] == "CU"
    assert not session.trace.steps[0].edited


def test_an_edit_explains_itself_in_the_trace_and_its_old_sentence_is_gone() -> None:
    session = dard.Session(los_diego(), LOS_DIEGO, decoder="dard", tau_c=0.4, tau_u=0.8)
    session.step()
    trace = session.edit(3, token="San", state="U").trace
    assert "by hand" in trace.why(trace.steps[0], 3)
    assert "'Diego'" in trace.why(trace.steps[0], 4)
    assert "became a candidate" in session.trace.why(session.trace.steps[0], 3)


def test_a_token_without_a_state_becomes_a_candidate_or_keeps_its_state() -> None:
    session = dard.Session(los_diego(), LOS_DIEGO, decoder="dard", tau_c=0.4, tau_u=0.8)
    assert session.edit(3, token="San").state.states[3] == "C"
    assert session.edit(3, token="San", state="U").edit(3, token="Los").state.states[3] == "U"
    assert session.edit(3, token="San").edit(3, token="[MASK]").state.states[3] == "M"
    plain = dard.Session(los_diego(), LOS_DIEGO, decoder="standard")
    assert plain.edit(3, token="San").state.states[3] == "U"


def test_an_edit_opens_a_finished_decode_again_and_an_earlier_block_too() -> None:
    session = session_of()
    session.run()
    branch = session.edit(0, state="M")
    assert not branch.finished and branch.state.block == 0
    assert branch.steps[-1].ended_by is None
    assert branch.run().finished
    assert session.finished


def test_an_edit_that_fills_the_last_mask_finishes_the_decode() -> None:
    model = scripted(["a", "b"], lambda position, visible: {"a": 0.5})
    session = dard.Session(model, "a [MASK] [MASK]", decoder="standard")
    session.step()
    branch = session.edit(2, token="b")
    assert branch.finished and branch.run().text == "a a b"


@pytest.mark.parametrize("ordering", ["confidence", "entropy", "margin"])
def test_a_token_put_in_by_hand_that_no_pass_proposed_ranks_last_among_the_candidates(ordering: str) -> None:
    """Its confidence is unknown: no other candidate may rely on it."""
    model = scripted(["a", "b"], lambda position, visible: {"a": 0.6 + 0.01 * position})
    session = dard.Session(model, "[MASK] [MASK] [MASK]", tau_c=0.5, tau_u=0.8, ordering=ordering)
    session.step()
    branch = session.edit(1, token="idle77", state="C")
    step = branch.step()
    assert step.visible(1) == [0, 2]
    assert 1 not in step.visible(0) and 1 not in step.visible(2)


@pytest.mark.parametrize("ordering", ["confidence", "entropy", "margin"])
def test_a_change_of_state_alone_keeps_the_rank(ordering: str) -> None:
    model = scripted(["a", "b"], lambda position, visible: {"a": 0.6 + 0.01 * position})
    session = dard.Session(model, "[MASK] [MASK] [MASK]", tau_c=0.5, tau_u=0.8, ordering=ordering)
    session.step()
    plain = session.at(1).step()
    edited = session.edit(1, state="U").edit(1, state="C").step()
    assert [edited.visible(i) for i in range(3)] == [plain.visible(i) for i in range(3)]


def test_saber_keeps_the_commit_confidence_of_a_token_that_was_masked_by_hand() -> None:
    session = dard.Session(random_model(1), [5, 6, 7], "saber", gen_length=9, n=2)
    session.step()
    session.step()
    branch = session
    for i in [i for i, letter in enumerate(session.state.states) if letter == "U"]:
        branch = branch.edit(i, state="M")
    assert branch.step().facts["threshold"] == session.step().facts["threshold"] < 1


@pytest.mark.parametrize(
    ("edit", "sentence"),
    [
        ({"position": 99, "token": "San"}, r"position = 99 .* from 0 to 11"),
        ({"position": -1, "token": "San"}, r"position = -1 .* from 0 to 11"),
        ({"position": True, "token": "San"}, "position = True"),
        ({"position": "3", "token": "San"}, "position = '3'"),
        ({"position": 0, "token": "San"}, "given by the template"),
        ({"position": 3, "token": "Paris"}, "Paris"),
        ({"position": 3, "token": "San Diego"}, "is 2 tokens"),
        ({"position": 3, "token": ""}, "is 0 tokens"),
        ({"position": 3, "token": 10_000}, "token = 10000 .* ids go from 0 to"),
        ({"position": 3, "token": -1}, "token = -1"),
        ({"position": 3, "token": 1.5}, "token must be"),
        ({"position": 3, "token": "x" * 201}, "token must be"),
        ({"position": 3, "token": "San", "state": "X"}, "state = 'X' .* M, C, U"),
        ({"position": 3, "token": "San", "state": "MC"}, "state = 'MC'"),
        ({"position": 3, "token": "San", "state": "M"}, "holds no token"),
        ({"position": 3, "state": "C"}, "name the token"),
        ({"position": 3, "token": "[MASK]", "state": "U"}, "name the token"),
        ({"position": 3}, "name the token"),
    ],
)
def test_a_wrong_edit_is_refused_with_a_sentence(edit: dict[str, Any], sentence: str) -> None:
    session = dard.Session(los_diego(), LOS_DIEGO, decoder="dard")
    before = session.trace.to_bytes()
    with pytest.raises(ValueError, match=sentence) as caught:
        session.edit(**edit)
    assert isinstance(caught.value, dard.InputError)
    assert "\n" not in str(caught.value)
    assert session.trace.to_bytes() == before


def test_a_decoder_without_candidates_refuses_the_state() -> None:
    with pytest.raises(ValueError, match="wino knows the states M, U"):
        dard.Session(los_diego(), LOS_DIEGO, decoder="wino").edit(3, token="San", state="C")


# Stopping.


def test_cancel_stops_a_run_after_the_step_it_is_in_and_it_can_go_on() -> None:
    whole = session_of().run()
    session = session_of()
    trace = session.run(lambda step: session.cancel() if step.index == 2 else None)
    assert trace.num_steps == 2 and not trace.finished and trace.ended_by is None
    assert without_times(session.run()) == without_times(whole)


def test_cancel_from_another_thread() -> None:
    session = session_of()

    def stop(step: dard.Step) -> None:
        if step.index == 1:
            thread = threading.Thread(target=session.cancel)
            thread.start()
            thread.join()

    assert session.run(stop).num_steps == 1


def test_a_branch_is_not_cancelled_with_its_original() -> None:
    session = session_of()
    session.step()
    branch = session.at(1)
    session.cancel()
    assert branch.run().finished


# Together.


class OnPaperAGpu:
    """A model that claims not to be on the CPU, so that sessions share its passes; counts them."""

    def __init__(self, model: Any) -> None:
        self.inner, self.device, self.passes = model, torch.device("cuda"), 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def answer(self, questions: list[Question]) -> list[Answer]:
        self.passes += 1
        return self.inner.answer(questions)


def test_compare_gives_what_each_decoder_gives_alone() -> None:
    together = dard.compare(random_model(2), [5, 6], gen_length=8, settings={"dard": SOFT["dard"]})
    assert list(together) == ["dard", "wino", "saber", "standard"]
    for name, trace in together.items():
        own = SOFT["dard"] if name == "dard" else {}
        alone = dard.decode(random_model(2), [5, 6], name, gen_length=8, **own)
        assert (trace.tokens, trace.settings, trace.text) == (alone.tokens, alone.settings, alone.text)
        assert [step.states for step in trace.steps] == [step.states for step in alone.steps]


def test_compare_gives_a_common_setting_to_those_who_have_it() -> None:
    traces = dard.compare(los_diego(), LOS_DIEGO, tau_c=0.4, threshold=0.5)
    assert traces["dard"].settings["tau_c"] == 0.4 and traces["wino"].settings["threshold"] == 0.5
    own = dard.compare(los_diego(), LOS_DIEGO, settings={"wino": {"threshold": 0.7}}, threshold=0.5)
    assert own["wino"].settings["threshold"] == 0.7
    with pytest.raises(ValueError, match="'gamma' is not a setting of dard, wino, saber, standard"):
        dard.compare(los_diego(), LOS_DIEGO, gamma=0.1)
    with pytest.raises(dard.InputError, match=r"'embedded' is a name; load it first: dard.load_model\('embedded'\)"):
        dard.decode("embedded", LOS_DIEGO)  # type: ignore[arg-type]


def test_sessions_on_a_gpu_share_their_passes() -> None:
    model = OnPaperAGpu(random_model(2))
    sessions = [dard.Session(model, [5, 6], name, gen_length=8, **SOFT.get(name, {})) for name in ALL_DECODERS]
    open_counts = [len(made) for made in passes(sessions)]
    longest = max(session.trace.num_steps for session in sessions)
    assert model.passes <= 2 * longest == 2 * len(open_counts)  # those with a shadow are longer
    assert open_counts[0] == len(ALL_DECODERS) and open_counts == sorted(open_counts, reverse=True)
    for session in sessions:
        name = session.decoder.name
        alone = dard.decode(random_model(2), [5, 6], name, gen_length=8, **SOFT.get(name, {}))
        assert session.trace.tokens == alone.tokens
        assert [s.states for s in session.steps] == [s.states for s in alone.steps]


def test_settings_for_a_decoder_that_is_not_compared_are_refused() -> None:
    with pytest.raises(ValueError, match="'saber', which is not compared"):
        dard.compare(los_diego(), LOS_DIEGO, decoders=["dard"], settings={"saber": {"n": 2}})


def test_text_stops_before_the_first_end_token() -> None:
    def rule(position: int, visible: object) -> dict[str, float]:
        return {"[EOS]" if position == 2 else "b": 0.9}

    trace = dard.decode(scripted(["a", "b"], rule), "a [MASK] [MASK] [MASK]", decoder="standard")
    assert trace.tokens == [2, 3, 1, 3]
    assert trace.text == "a b"


def test_an_unknown_word_is_refused_by_the_name_of_its_field() -> None:
    for model, prompt in ((random_model(1), "w31 [MASK]"), (los_diego(), LOS_DIEGO)):
        session = dard.Session(model, prompt)
        with pytest.raises(dard.InputError, match=r"^token holds .*zebra"):
            session.edit(session.state.states.index("M"), token="zebra", state="U")


def test_what_the_package_offers_is_found_by_looking() -> None:
    assert set(dard.__all__) <= set(dir(dard)) and {"decode", "Session", "causes", "load_model"} <= set(dir(dard))


def test_a_trace_is_shown_in_one_line() -> None:
    trace = dard.decode(random_model(0), [5, 6], "standard", gen_length=60)
    assert repr(trace).startswith("<Trace of 'standard' on 'random-0': 60 passes, ended by all unmasked, text 'w")
    assert len(repr(trace)) < 200 and "\n" not in repr(trace)
    assert ": 1 pass, ended" in repr(dard.decode(random_model(0), [5, 6], "standard", gen_length=1))
    assert "unfinished" in repr(dard.Session(random_model(0), [5, 6]).trace)
