"""What the browser is sent: that it is the trace, that it is small, and that no text in it can surprise."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import dard
from dard.attention import contaminated
from dard.decoders import DECODERS
from dard.explain import explain_in, summary
from dard.models.scripted import LOS_DIEGO, los_diego
from dard.trace import Step, Trace
from tests.helpers import ALL_DECODERS
from tests.tiny import random_model
from visual import payload as module
from visual.payload import KINDS, analysis, header, life, payload, sentence, shown, step_payload, thousandths


@cache
def los() -> Trace:
    return dard.decode(los_diego(), LOS_DIEGO, tau_c=0.4, tau_u=0.8)


@cache
def decoded(length: int, steps: int, decoder: str = "dard", block: int | None = None) -> Trace:
    settings: dict[str, Any] = {"tau_c": 0.5, "tau_u": 0.8} if decoder == "dard" else {}
    model = random_model(3, layers=2, sharpness=1.2)
    session = dard.Session(model, "w5 w6 w7", decoder, gen_length=length, block_length=block, **settings)
    while len(session.steps) < steps and not session.finished:
        session.step()
    return session.trace


def inflate(text: str) -> bytes:
    return zlib.decompress(base64.b64decode(text))


class Reader:
    """What the browser does with a payload, in a few literal lines."""

    def __init__(self, body: dict[str, Any]) -> None:
        self.body = body
        self.tokens = list(body["start"]["tokens"])
        self.states = list(body["start"]["states"])
        self.confidence = list(body["start"]["confidence"])
        self.mask: np.ndarray | None = None

    def take(self, step: dict[str, Any]) -> None:
        start, end = step["b"]
        order = sorted(range(start, end), key=lambda i: ("MCU".index(self.states[i]), -self.confidence[i], i))
        order = [i - start for i in order]
        before = list(self.states)
        for letter, positions in step.get("s", {}).items():
            for i in positions:
                self.states[i] = letter
                if letter == "M":
                    self.tokens[i] = self.body["mask"]
        for i, token in zip(step.get("d", [])[::2], step.get("d", [])[1::2], strict=True):
            self.tokens[i] = token
        data = memoryview(inflate(step["z"])) if "z" in step else memoryview(b"")
        size = step["b"][1] - step["b"][0]

        def take(count: int) -> np.ndarray:
            nonlocal data
            part, data = data[:count], data[count:]
            return np.frombuffer(part, np.uint8).astype(int)

        if "n" in step:
            first, count = step["n"]
            low, high = take(count), take(count)
            self.confidence[first : first + count] = (low + 256 * high).tolist()
        self.weights = None
        if step.get("w") == 0:
            self.weights = self.worked_out(step, before)
        elif "w" in step:
            low, high = take(size), take(size)
            self.weights = (np.cumsum(low + 256 * high) % 65536).tolist()
            self.p, self.d = (np.cumsum(take(size)) % 256 * step["w"] / 255 for _ in range(2))
        self.contaminated = take(size).tolist() if "k" in step else [0] * size
        self.mask = None
        if "m" in step:
            rows = take(2 * size * (-(-2 * size // 8))).reshape(2 * size, -1).astype(np.uint8)
            rows = np.bitwise_xor.accumulate(rows, axis=0)
            self.mask = unordered(np.unpackbits(rows, axis=1, count=2 * size).astype(bool), order)
        assert not data

    def worked_out(self, step: dict[str, Any], before: list[str]) -> list[int]:
        known = self.body["weights"]
        promoted = step.get("ev", {}).get("p", [])
        demoted = [j for j in step.get("ev", {}).get("d", []) if before[j] == "C"]
        out = []
        for i in range(*step["b"]):
            p = sum(known["lambda"] ** abs(i - j) for j in promoted)
            d = sum(known["lambda"] ** abs(i - j) for j in demoted)
            out.append(65535 if before[i] != "M" else thousandths(round((p + known["p0"]) / (p + d + known["p0"]), 6)))
        return out


def unordered(matrix: np.ndarray, order: list[int]) -> np.ndarray:
    both = [*order, *(i + len(order) for i in order)]
    out = np.zeros_like(matrix)
    out[np.ix_(both, both)] = matrix
    return out


@pytest.mark.parametrize("decoder", ALL_DECODERS)
@pytest.mark.parametrize(("length", "block"), [(13, None), (20, 8)])
def test_the_payload_holds_the_trace(decoder: str, length: int, block: int | None) -> None:
    trace = decoded(length, 400, decoder, block)
    body = json.loads(json.dumps(payload(trace)))
    reader = Reader(body)
    assert len(body["steps"]) == len(trace.steps)
    for step, sent in zip(trace.steps, body["steps"], strict=True):
        reader.take(sent)
        assert reader.tokens == step.tokens
        assert "".join(reader.states) == step.states
        assert reader.confidence == [thousandths(c) for c in step.confidence]
        assert (reader.mask is None) == (step.mask is None)
        if step.mask is not None:
            assert (reader.mask == step.mask).all()
        start, end = step.block
        weights = step.weights[start:end]
        if reader.weights is None:
            assert set(weights) <= {None}
        else:
            assert reader.weights == [65535 if w is None else thousandths(w) for w in weights]
        if sent.get("w"):
            expected = [p or 0 for p in step.score_p[start:end]]
            assert np.allclose(reader.p, expected, atol=0.51 * sent["w"] / 255 + 0.01)
        assert sent["say"] == summary(step, trace.word)
    assert body["finished"] == trace.finished == bool(body["steps"][-1].get("f"))


def test_a_live_run_sends_the_same_steps() -> None:
    trace = los()
    whole = payload(trace)["steps"]
    for step, together in zip(trace.steps, whole, strict=True):
        alone = step_payload(trace, step)
        alone.pop("words", None)
        assert alone == together


def test_a_live_run_names_its_new_words() -> None:
    trace = los()
    known = set(header(trace)["words"])
    for step in trace.steps:
        known |= set(step_payload(trace, step).get("words", {}))
        assert {str(token) for token in step.tokens} <= known


@pytest.mark.parametrize("decoder", ["dard", "wino"])
def test_reach_is_what_the_engine_says(decoder: str) -> None:
    trace = decoded(20, 12, decoder)
    for step in trace.steps:
        found = analysis(step)
        if step.mask is None:
            assert found is None
            continue
        assert found is not None
        nearest: dict[int, int] = {}
        heard: dict[int, set[int]] = {}
        for position, candidate, layers in contaminated(step):
            nearest[position] = min(layers, nearest.get(position, 255))
            heard.setdefault(position, set()).add(candidate)
        start, end = step.block
        assert found.contaminated.tolist() == [nearest.get(i, 0) for i in range(start, end)]
        assert {i: set(candidates) for i, (_, candidates) in found.sources.items()} == heard
        sent = step_payload(trace, step, with_life=False)
        if found.depth is not None:
            size = len(step.mask)
            rows = np.bitwise_xor.accumulate(np.frombuffer(inflate(sent["r"]), np.uint8).reshape(size, size), axis=0)
            depth = unordered(rows, module.packing_order(step)[: size // 2].tolist())
            assert (depth == found.depth).all()
            assert not depth[step.mask].any()


def test_a_life_tells_every_step_of_a_token() -> None:
    trace = decoded(20, 12)
    for position in (0, 7, 19):
        told = life(trace, position)
        assert [part["y"] for part in told["steps"]] == [explain_in(trace, step, position) for step in trace.steps]
        for part, step in zip(told["steps"], trace.steps, strict=True):
            for path, key in (("x", "x"), ("s", "s"), ("mix", "m")):
                guesses = step.top[path].at(position) if path in step.top else []
                assert part.get(key, [])[::2] == [token for token, _ in guesses]
                assert all(str(token) in told["words"] for token, _ in guesses)
            if step.mask is not None:
                assert part.get("d") == ("m" if step.states_before[position] == "M" else "s")
            if step.weights[position] is not None:
                assert part["w"][2] == pytest.approx(step.weights[position], abs=1e-4)


def test_lives_come_along_for_short_regions_only() -> None:
    assert all("life" in step for step in payload(decoded(20, 5))["steps"])
    long = payload(decoded(80, 3))
    assert not any("life" in step for step in long["steps"])
    assert "lives" not in long
    kept = payload(decoded(80, 3), lives=True)
    assert len(kept["lives"]) == 80
    assert json.loads(inflate(kept["lives"][9])) == json.loads(json.dumps(life(decoded(80, 3), 9)))


@pytest.mark.parametrize("position", [-1, 12, True, "3", None, 1.0])
def test_a_position_that_is_not_there_is_refused(position: Any) -> None:
    with pytest.raises(dard.InputError, match="position"):
        life(los(), position)


def test_an_edited_branch_is_sent_as_it_stands() -> None:
    session = dard.Session(los_diego(), LOS_DIEGO, tau_c=0.4, tau_u=0.8)
    session.step()
    branch = session.edit(3, token="San", state="U")
    branch.run()
    body = payload(branch.trace)
    assert body["steps"][0]["ev"]["e"] == [3]
    reader = Reader(body)
    for sent, step in zip(body["steps"], branch.trace.steps, strict=True):
        reader.take(sent)
        assert reader.tokens == step.tokens
    assert dard.Session(los_diego(), LOS_DIEGO).edit(3, token="San", state="U").trace.start.edited == [3]
    start = header(dard.Session(los_diego(), LOS_DIEGO).edit(3, token="San", state="U").trace)["start"]
    assert start["edited"] == [3]


def test_weights_are_explained_when_they_are_all_one() -> None:
    trace = los()
    notes = header(trace)["weights"]["notes"]
    keys = [step_payload(trace, step)["wn"] for step in trace.steps]
    assert set(keys) <= set(notes)
    assert keys[0] == "still"
    for key, step in zip(keys, trace.steps, strict=True):
        found = [w for w in step.weights if w is not None]
        assert (key == "mixed") == any(w != 1 for w in found)
        assert (key in ("full", "commit")) == (not found)
    fixed = dard.decode(los_diego(), LOS_DIEGO, mixing=0.5)
    assert step_payload(fixed, fixed.steps[0])["wn"] == "fixed"


def test_decoders_are_known_as_they_are() -> None:
    assert set(KINDS) == set(DECODERS)
    for name, kind in KINDS.items():
        decoder = DECODERS[name]
        assert (kind.title, set(kind.states), kind.shadow) == (decoder.title, set(decoder.states), decoder.has_shadow)
        assert {setting for setting, _, _ in kind.thresholds} <= set(decoder.Settings.allowed())


@pytest.mark.parametrize("ordering", ["confidence", "entropy", "margin", "l2r", "bidirectional"])
def test_every_cell_of_a_mask_has_a_reason(ordering: str) -> None:
    """Whatever the states, the page finds a sentence for each cell."""
    session = dard.Session(
        random_model(3, sharpness=1.2), "w5 w6", gen_length=12, tau_c=0.5, tau_u=0.8, ordering=ordering
    )
    for _ in range(6):
        session.step()
    wino = dard.decode(random_model(3, sharpness=1.2), "w5 w6", decoder="wino", gen_length=12)
    for trace in (session.trace, wino):
        reasons = header(trace)["cells"]
        for step in trace.steps:
            if step.mask is not None:
                check_cells(step, reasons)


def check_cells(step: Step, reasons: dict[str, str]) -> None:
    mask = step.mask
    assert mask is not None
    start, end = step.block
    size = end - start
    for row in range(2 * size):
        for column in range(2 * size):
            q, k = "xs"[row // size], "xs"[column // size]
            a, b = (step.states_before[start + n % size] for n in (row, column))
            keys = [f"{x}{y}{k}{z}{int(mask[row, column])}" for x in (q, "*") for y in (a, "*") for z in (b, "*")]
            own = q == "s" and row % size == column % size
            assert own or any(key in reasons for key in keys), keys[0]


def test_a_step_is_small(capsys: pytest.CaptureFixture[str]) -> None:
    """2.5 KB per step at L = 256 for everything but the top-5 tables and lives."""
    trace = decoded(256, 16)
    steps = payload(trace)["steps"]
    sizes = [len(json.dumps(step, separators=(",", ":")).encode()) for step in steps]
    with capsys.disabled():
        print(f"\npayload at L = 256: {sum(sizes) / len(sizes):.0f} bytes per step, at most {max(sizes)}")
    assert max(sizes) <= 2500


def test_weights_travel_unless_the_browser_can_work_them_out() -> None:
    trace = decoded(32, 12)
    assert any(w not in (None, 1) for step in trace.steps for w in step.weights)
    assert {step.get("w") for step in payload(trace)["steps"]} <= {0, None}
    # A file may say anything: numbers that do not follow from its own events are shown as it gives them.
    body = json.loads(trace.to_bytes(compress=False))
    number, step = next((n, s) for n, s in enumerate(body["steps"]) if any(w is not None for w in s["weights"]))
    position = next(i for i, w in enumerate(step["weights"]) if w is not None)
    step["weights"][position] = 0.123
    told = Trace.from_bytes(json.dumps(body).encode())
    reader = Reader(payload(told))
    for sent in reader.body["steps"][: number + 1]:
        reader.take(sent)
    assert reader.weights is not None and reader.weights[position] == 123
    fixed = dard.decode(random_model(3, layers=2, sharpness=1.2), "w5 w6", gen_length=16, tau_c=0.5, mixing=0.5)
    sent_weights = [step["w"] for step in payload(fixed)["steps"] if "w" in step]
    assert sent_weights and 0 not in sent_weights


def test_a_trace_too_large_for_a_browser_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_CELLS", 30)
    with pytest.raises(dard.InputError, match="12 positions and 5 steps"):
        payload(los())


def test_without_torch_only_the_reach_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    import builtins

    trace = decoded(20, 3)
    real: Callable[..., Any] = builtins.__import__

    def no_torch(name: str, *rest: Any) -> Any:
        if name == "torch":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", no_torch)
    monkeypatch.setattr(module, "_analyses", {})
    steps = payload(trace)["steps"]
    assert all("m" in step and "r" not in step and "k" not in step for step in steps)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Diego", "Diego"), (" the", "␣the"), ("\n\n", "↵↵"), ("\t", "⇥"), ("a\x00b", "a⟨0000⟩b"), ("", "∅"),
        ("<b>", "<b>"),
        ("\u202eabc", "⟨202E⟩abc"), ("\u200b", "⟨200B⟩"), ("\x85", "⟨0085⟩"), ("\ud800", "⟨D800⟩"), ("\u2028", "↵"),
        ("\xa0", "␣"), ("👩\u200d👧", "👩\u200d👧"), ("x" * 10_000, "x" * 47 + "…"),
    ],
)  # fmt: skip
def test_invisible_text_becomes_visible(text: str, expected: str) -> None:
    assert shown(text) == expected


def test_sentences_keep_their_spaces_and_have_an_end() -> None:
    assert sentence("a b\nc\x00") == "a b↵c⟨0000⟩"
    assert len(sentence("x" * 10_000)) == module.SENTENCE_AT_MOST


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"tau_c": "high", "tau_u": None},
        {"lambda_": 7.0, "p0": "x"},
        {"block_length": -3},
        {"block_length": "many"},
        {"tau_c": 9},
    ],
)
@pytest.mark.parametrize("decoder", [*ALL_DECODERS, "never heard of"])
def test_a_trace_with_odd_settings_is_still_shown(decoder: str, settings: dict[str, Any]) -> None:
    body = json.loads(los().to_bytes(compress=False)) | {"decoder": decoder, "settings": settings}
    for step in body["steps"]:
        step.pop("why", None)
    sent = payload(Trace.from_bytes(json.dumps(body).encode()))
    assert len(sent["steps"]) == 5 and sent["block"] == 12
    assert all(0 <= threshold["at"] <= 1 for threshold in sent["thresholds"])
