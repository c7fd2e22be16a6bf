"""What other programs keep, read as traces: the same states, nothing guessed, and bad files refused in one sentence."""

from __future__ import annotations

import gzip
import io
import json
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import dard
from dard.cli import main as command_line
from dard.trace.readers import Frames, from_step_map, read, to_step_map
from tests.samplers import MASK, Network, dream, llada
from tests.test_recording import prompts, states_of

FRAMES = [[5, 0, 0, 0], [5, 0, 7, 0], [5, 6, 7, 0], [5, 0, 7, 8], [5, 6, 9, 8]]


def saved(value: Any) -> bytes:
    file = io.BytesIO()
    torch.save(value, file)
    return file.getvalue()


# States.


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_states_become_a_trace_that_holds_them(data: st.DataObject) -> None:
    length = data.draw(st.integers(1, 6))
    rows = st.lists(st.integers(0, 4), min_size=length, max_size=length)
    frames = [data.draw(rows.filter(lambda row: 0 in row)), *data.draw(st.lists(rows, max_size=5))]
    numbers = st.lists(st.none() | st.floats(0, 1), min_size=length, max_size=length)
    confidence = [data.draw(numbers) for _ in frames[1:]]
    trace = dard.Trace.from_tokens(frames, 0, confidence=confidence)
    assert states_of(trace) == frames
    assert states_of(dard.Trace.from_bytes(trace.to_bytes())) == frames
    begin = len(trace.prompt_tokens)
    held: list[float | None] = [None] * length
    for step, before, after, told in zip(trace.steps, frames[:-1], frames[1:], confidence, strict=True):
        assert step.decided == [i - begin for i in range(begin, length) if before[i] == 0 != after[i]]
        assert step.demoted == [i - begin for i in range(begin, length) if before[i] != 0 == after[i]]
        assert step.replaced == [i - begin for i in range(begin, length) if 0 != before[i] != after[i] != 0]
        kept = [held[i] if before[i] == after[i] != 0 else None for i in range(length)]
        held = [kept[i] if told[i] is None else round(told[i], 6) for i in range(length)]
        measured = [1.0 if trace.fixed[i - begin] else held[i] for i in range(begin, length)]
        assert step.confidence == measured


def test_the_region_begins_at_the_first_mask_or_where_something_changes() -> None:
    trace = dard.Trace.from_tokens([[5, 6, 0, 7], [5, 6, 8, 7]], 0)
    assert (trace.prompt_tokens, trace.fixed, trace.text) == ([5, 6], [False, True], "<8> <7>")
    trace = dard.Trace.from_tokens([[5, 6, 0, 7], [5, 9, 8, 7]], 0)
    assert (trace.prompt_tokens, trace.fixed, trace.steps[0].replaced) == ([5], [False, False, True], [0])
    assert trace.start.confidence == [None, 0.0, 1.0]


def test_words_may_come_in_any_shape() -> None:
    class Tokenizer:
        def decode(self, ids: list[int]) -> str:
            return "".join(f" t{i}" for i in ids)

    for words, said in {
        "a function": (lambda token: f"t{token}", "t6 t9 t8"),
        "texts by id": ({6: "t6", 8: "t8"}, "t6 <9> t8"),
        "pieces with spaces": ({6: " t", 8: "!", 9: "s"}, " ts!"),
        "a list": ([f"t{i}" for i in range(9)], "t6 <9> t8"),
        "a tokenizer": (Tokenizer(), " t6 t9 t8"),
        "nothing": (None, "<6> <9> <8>"),
    }.values():
        assert dard.Trace.from_tokens(FRAMES, 0, words).text == said


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "different lengths": ({"frames": [[0, 1], [0]]}, "frame 1 has 1 token ids, but frame 0 has 2"),
    "no masks": ({"frames": [[1, 2], [1, 3]]}, "the first state holds no mask"),
    "no frames": ({"frames": []}, "frames must be a list of 1 to"),
    "no lists": ({"frames": [0, 1]}, "frame 0 is not a list"),
    "text": ({"frames": [["a", 0]]}, "frame 0 holds 'a'"),
    "a flag": ({"frames": [[True, 0]]}, "frame 0 holds 'True'"),
    "a negative id": ({"frames": [[-1, 0]]}, "frame 0 holds '-1'"),
    "a mask that is none": ({"frames": [[0]], "mask_id": "x"}, "mask_id = 'x' is not allowed"),
    "too few numbers": ({"frames": [[0], [1]], "confidence": []}, "confidence must hold a list for every frame but"),
    "numbers of another length": (
        {"frames": [[0], [1]], "confidence": [[1, 1]]},
        "confidence of frame 1 is not a list",
    ),
    "no number": ({"frames": [[0], [1]], "confidence": [[2]]}, "confidence of frame 1 holds '2'"),
    "no layers": ({"frames": [[0]], "num_layers": 0}, "num_layers = '0' is not allowed"),
    "settings in settings": ({"frames": [[0]], "settings": {"a": [1]}}, "settings holds 'a'"),
    "words": ({"frames": [[0]], "words": 7}, "words = '7' is not allowed"),
}


@pytest.mark.parametrize("kind", BAD)
def test_bad_states_are_refused_in_one_sentence(kind: str) -> None:
    values, sentence = BAD[kind]
    with pytest.raises(dard.InputError) as caught:
        dard.Trace.from_tokens(**{"mask_id": 0} | values)
    assert str(caught.value).startswith(sentence) and "\n" not in str(caught.value)


# Files.


def test_every_kind_of_file_gives_the_same_trace() -> None:
    tensors = [torch.tensor([frame]) for frame in FRAMES]
    whole = {"mask_id": 0, "words": {"5": "a"}}
    kinds: dict[str, tuple[bytes, dict[str, Any]]] = {
        "a plain list": (json.dumps(FRAMES).encode(), {"mask_id": 0, "words": {5: "a"}}),
        "a list of batches": (json.dumps([[frame] for frame in FRAMES]).encode(), {"mask_id": 0, "words": {5: "a"}}),
        "frames": (json.dumps({"frames": FRAMES, **whole}).encode(), {}),
        "gzipped": (gzip.compress(json.dumps({"frames": FRAMES, **whole}).encode()), {}),
        "histories": (json.dumps({"histories": FRAMES, **whole}).encode(), {}),
        "history": (json.dumps({"history": FRAMES[1:], "prompt_length": 1, **whole}).encode(), {}),
        "tensors": (saved(tensors), {"mask_id": 0, "words": {5: "a"}}),
        "tensors by name": (saved({"histories": tensors}), {"mask_id": 0, "words": {5: "a"}}),
        "tensors of Dream": (saved({"history": tensors[1:]}), {"mask_id": 0, "words": {5: "a"}, "prompt_length": 1}),
    }
    for kind, (data, told) in kinds.items():
        [trace] = read(data, **told)
        assert states_of(trace) == FRAMES, kind
        assert trace.word(5) == "a" and trace.steps[2].demoted == [0] and trace.steps[3].replaced == [1]
    [same] = read(trace.to_bytes())
    assert same.steps == trace.steps


def test_a_batch_gives_a_trace_per_row() -> None:
    other = [[3, 4, 0, 0]] * 4 + [[3, 4, 1, 1]]
    traces = read(json.dumps([list(pair) for pair in zip(FRAMES, other, strict=True)]).encode(), mask_id=0)
    assert [states_of(trace) for trace in traces] == [FRAMES, other]


class Planted:
    def __reduce__(self) -> Any:
        return (print, ("run",))


def bomb() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a/data.pkl", bytes(80 << 20))
    return file.getvalue()


HOSTILE: dict[str, tuple[Any, str]] = {
    "no mask id": (b"[[0, 1]]", "no mask id is known"),
    "no states": (b'{"a": 1}', "holds none of frames, histories, history and step_map"),
    "a number": (b"5", "holds none of"),
    "not JSON": (b"hello", "neither JSON nor what torch.save writes"),
    "deep nesting": (b"[" * 100_000, "neither JSON"),
    "a broken trace": (b'{"format": "dard-trace"}', "trace file has version null"),
    "Dream's history alone": ({"history": FRAMES, "mask_id": 0}, "tell where the prompt ends"),
    "a prompt without an end": ({"history": FRAMES, "mask_id": 0, "prompt_length": 4}, "prompt_length = '4'"),
    "rows that come and go": ([[[0], [0]], [[0]]], "different numbers of rows"),
    "an empty list": ([], "not a list of states"),
    "words by no id": ({"frames": FRAMES, "mask_id": 0, "words": {"x": "y"}}, "not a text by a token id"),
    "words that are none": ({"frames": FRAMES, "mask_id": 0, "words": 3}, "neither an object of texts by id nor"),
    "a name that is none": ({"frames": FRAMES, "mask_id": 0, "name": 3}, "name is not a text"),
    "an end that is none": ({"frames": FRAMES, "mask_id": 0, "eos_id": "x"}, "eos_id = 'x' is not a token id"),
    "a map without tokens": ({"step_map": [0], "mask_id": 0}, "a step_map needs tokens"),
    "a map of fractions": ({"step_map": [0.5], "tokens": [1], "mask_id": 0}, "a step_map holds whole numbers"),
    "an endless map": ({"step_map": [0, 10**6], "tokens": [1, 1], "mask_id": 0}, "spans too many steps"),
    "code in a pickle": (saved([Planted()]), "broken or holds more than tensors"),
    "a file cut short": (saved([torch.zeros(4)])[:100], "broken or holds more than tensors"),
    "a zip bomb": (bomb(), "unpacks to more than 64 MB"),
    "numbers that are no ids": (saved([torch.zeros(1, 4)]), "other tensors than ids"),
    "more than it holds": (
        saved([torch.zeros(1, dtype=torch.long).expand(1, 10**9)]),
        "other tensors than ids, or more",
    ),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_bad_file_is_refused_in_one_sentence(kind: str, capfd: pytest.CaptureFixture[str]) -> None:
    body, sentence = HOSTILE[kind]
    with pytest.raises(dard.InputError) as caught:
        read(
            body if isinstance(body, bytes) else json.dumps(body).encode(),
            **({} if isinstance(body, bytes | dict) else {"mask_id": 0}),
        )
    assert sentence in str(caught.value) and "\n" not in str(caught.value)
    assert "run" not in capfd.readouterr().out


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=8,
)
KEYS = ["frames", "history", "step_map", "tokens", "words", "confidence", "prompt_length", "mask_id", "model"]


@settings(max_examples=150, deadline=None)
@given(value=VALUES, key=st.sampled_from(KEYS))
def test_any_value_in_any_place_is_read_or_refused(value: Any, key: str) -> None:
    for body in ({"frames": FRAMES, "mask_id": 0}, {"step_map": [0, 1], "tokens": [4, 5], "mask_id": 0}):
        try:
            for trace in read(json.dumps(body | {key: value}).encode()):
                dard.Trace.from_bytes(trace.to_bytes())
        except dard.InputError as error:
            assert "\n" not in str(error)


# Maps of steps.


@settings(max_examples=100, deadline=None)
@given(st.lists(st.none() | st.integers(-1, 4), min_size=1, max_size=8).filter(lambda row: any(s != -1 for s in row)))
def test_a_map_of_steps_goes_in_and_out(steps: list[int | None]) -> None:
    first = min((s for s in steps if s is not None and s >= 0), default=0)
    trace = from_step_map(steps, list(range(1, len(steps) + 1)), 0, {1: "a"}, [9, 9])
    assert states_of(trace)[0][:2] == [9, 9]
    for now in range(trace.num_steps + 1):
        want = [i + 1 if s is not None and s < first + now else 0 for i, s in enumerate(steps)]
        assert states_of(trace)[now][2:] == want
    [again] = read(json.dumps(to_step_map(trace)).encode())
    assert states_of(again) == states_of(trace)


def test_a_map_of_steps_says_that_it_cannot_hold_a_revocation() -> None:
    trace = dard.Trace.from_tokens(FRAMES, 0)
    with pytest.raises(
        dard.InputError, match=r"cannot hold a revocation, and this trace has 2, the first in step 3 at position 0"
    ):
        to_step_map(trace)
    assert to_step_map(trace, drop_revocations=True)["step_map"] == [3, 3, 2]


# Callbacks.


def test_dreams_hook_collects_every_state_and_its_confidence() -> None:
    network, frames = Network(0), Frames(MASK, prompt_length=None, name="Dream")
    with torch.no_grad(), dard.record(network, mask_id=MASK, shift=True) as recording:
        run = dream(network, prompts(0, 2), hook=frames.dream)
    for row, (trace, other) in enumerate(zip(frames.traces, recording.traces, strict=True)):
        assert states_of(trace) == [state[row].tolist() for state in run.states]
        for step, seen in zip(trace.steps, other.steps, strict=True):
            assert [step.confidence[i] for i in step.decided] == pytest.approx(
                [seen.confidence[i] for i in seen.decided], abs=2e-6
            )


def test_a_callback_never_raises_and_the_trace_says_what_was_missing() -> None:
    """The rest of what is said about `Frames.diffusers` runs against diffusers itself, in tests/contact."""
    frames, x = Frames(0), torch.tensor([[5, 6, 7, 0]])
    for inputs in ({"transfer_index": x}, {"block_x": x}, {"block_x": x}):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            assert frames.diffusers(None, 0, 0, inputs) is inputs
        assert len(said) == ("transfer_index" in inputs)
    with pytest.raises(dard.InputError, match=r"callback_on_step_end was given transfer_index, .* 'active_block'"):
        _ = frames.trace
    with pytest.raises(dard.InputError, match="no state was collected"):
        _ = Frames(0).trace
    half, ids = torch.tensor([[5, 6]]), {"block_x": x, "active_block": x == 0}
    calls: dict[str, tuple[Frames, Callable[[Frames], Any]]] = {
        "states of masks need a mask id": (Frames(), lambda frames: frames.dream(None, x, None)),
        r"cannot be read \(AttributeError": (Frames(), lambda frames: frames.put("text")),
        r"cannot be read \(ValueError": (
            Frames(0),
            lambda frames: (frames.dream(None, x, x), frames.dream(0, half, x)),
        ),
        "another run called these Frames; give each run Frames of its own": (
            Frames(0),
            lambda frames: [frames.diffusers(None, step, 0, ids) for step in (0, 1, 0, 1)],
        ),
    }
    for sentence, (frames, call) in calls.items():
        with pytest.warns(UserWarning, match=sentence) as told:
            call(frames)
        assert len(told) == 1
        with pytest.raises(dard.InputError, match=sentence):
            _ = frames.trace
    for name in ("prompt_length", "gen_length"):
        with pytest.raises(dard.InputError, match=f"{name} = '-1' is not allowed; it must be from 0 to"):
            Frames(0, **{name: -1})


# The command.


def test_view_opens_what_others_wrote(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with torch.no_grad():
        torch.save(llada(Network(0), prompts(0, 2)).states, tmp_path / "h.pt")
    (tmp_path / "f.json").write_text(json.dumps(FRAMES))
    (tmp_path / "m.json").write_text(json.dumps({"step_map": [0, 1], "tokens": [4, 5], "mask_id": 0}))
    out = ["--no-open", "--out", str(tmp_path / "page.html")]
    for name, more in {"h.pt": ["--mask-id", "0"], "f.json": ["--mask-id", "0"], "m.json": []}.items():
        assert command_line.main(["view", str(tmp_path / name), *more, *out]) == 0
    assert command_line.main(["view", str(tmp_path / "h.pt"), "--mask-id", "0", "--row", "1", *out]) == 0
    capsys.readouterr()
    for arguments, sentence in {
        ("f.json",): "no mask id is known",
        ("h.pt", "--mask-id", "0", "--row", "2"): "has rows 0 to 1",
        ("f.json", "--mask-id", "0", "--tokenizer", "nowhere"): "tokenizer 'nowhere' cannot be read",
    }.items():
        assert command_line.main(["view", str(tmp_path / arguments[0]), *arguments[1:], *out]) == 2
        said = capsys.readouterr().err
        assert sentence in said and said.count("\n") == 1


def test_view_writes_words_with_a_tokenizer() -> None:
    from dard.core.folders import assets
    from dard.trace.readers import TokenizerFile

    words = TokenizerFile(str(assets("model")))
    [trace] = read(json.dumps(FRAMES).encode(), mask_id=0, words=words)
    assert trace.word(5) == words.decode([5]) != "<5>"
