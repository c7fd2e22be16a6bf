"""What the browser is sent: that it is the trace, that it is small, and that no text in it can surprise."""

from __future__ import annotations

import base64
import gzip
import json
import zlib
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

import dard
from dard.about import About, Column, Event, Path
from dard.models.scripted import LOS_DIEGO, los_diego
from dard.reach import contaminated
from dard.trace import Start, Step, Top, Trace
from dard.words import Words, summary
from tests.helpers import ALL_DECODERS
from tests.tiny import long_trace, random_model, written
from visual import payload as module
from visual.payload import analysis, graph, header, life, pack, payload, sentence, short, shown, step_payload
from visual.service import GALLERY


@cache
def los() -> Trace:
    return dard.decode(los_diego(), LOS_DIEGO, tau_c=0.4, tau_u=0.8)


@cache
def decoded(length: int, steps: int, decoder: str = "dard", block: int | None = None, **own: Any) -> Trace:
    settings: dict[str, Any] = {"tau_c": 0.5, "tau_u": 0.8} if decoder == "dard" else {}
    model = random_model(3, layers=2, sharpness=1.2)
    session = dard.Session(model, "w5 w6 w7", decoder, gen_length=length, block_length=block, **settings | own)
    session.run(lambda step: session.cancel() if step.index == steps else None)
    return session.trace


def received(value: Any) -> Any:
    """What arrives of something that was packed."""
    return json.loads(gzip.decompress(base64.b64decode(pack(value))))


class Masks:
    """The one thing that is packed, unpacked in a few literal lines."""

    def __init__(self, body: dict[str, Any]) -> None:
        self.states, self.confidence = body["start"]["states"], body["start"]["confidence"]

    def take(self, step: dict[str, Any]) -> tuple[np.ndarray | None, np.ndarray | None]:
        """The mask and the reach of the next step."""
        start, end = step["block"]
        by = [("MCU".index(self.states[i]), -self.confidence[i], i) for i in range(start, end)]
        order = [i - start for _, _, i in sorted(by)]
        self.states, self.confidence = step["states"], step["columns"]["confidence"]
        size = 2 * (end - start)
        rows = self.rows(step, "mask", -(-size // 8))
        depth = self.rows(step, "reach", size)
        bits = None if rows is None else np.unpackbits(rows, axis=1, count=size).astype(bool)
        return unordered(bits, order), unordered(depth, order)

    @staticmethod
    def rows(step: dict[str, Any], key: str, width: int) -> np.ndarray | None:
        if key not in step:
            return None
        data = np.frombuffer(zlib.decompress(base64.b64decode(step[key])), np.uint8)
        return np.bitwise_xor.accumulate(data.reshape(-1, width), axis=0)


def unordered(matrix: np.ndarray | None, order: list[int]) -> np.ndarray | None:
    if matrix is None:
        return None
    both = [*order, *(i + len(order) for i in order)]
    out = np.zeros_like(matrix)
    out[np.ix_(both, both)] = matrix
    return out


@pytest.mark.parametrize("decoder", ALL_DECODERS)
@pytest.mark.parametrize(("length", "block"), [(13, None), (20, 8)])
def test_the_payload_holds_the_trace(decoder: str, length: int, block: int | None) -> None:
    trace = decoded(length, 400, decoder, block)
    body = received(payload(trace))
    assert (body["format"], body["version"], body["length"]) == ("dard-view", 2, length)
    assert body["start"]["tokens"] == trace.start.tokens and body["start"]["states"] == trace.start.states
    masks = Masks(body)
    for step, sent in zip(trace.steps, body["steps"], strict=True):
        assert (sent["i"], tuple(sent["block"])) == (step.index, step.block)
        assert (sent["tokens"], sent["states"]) == (step.tokens, step.states)
        assert sent["events"] == step.events
        assert sent["columns"].keys() == step.columns.keys()
        for name, row in step.columns.items():
            assert [v is None for v in sent["columns"][name]] == [v is None for v in row]
            assert [v for v in sent["columns"][name] if v is not None] == pytest.approx(
                [v for v in row if v is not None], abs=1.1e-5
            )
        mask, _ = masks.take(sent)
        assert (mask is None) == (step.mask is None)
        assert mask is None or (mask == step.mask).all()
        assert sent["say"] == summary(step, trace.about, Words(trace.word))
        assert sent["notes"] == step.notes
        assert sent.get("ended") == step.ended_by
    assert {str(token) for step in trace.steps for token in step.tokens} <= body["words"].keys()
    assert body["finished"] == trace.finished == body["steps"][-1]["finished"]
    assert [step["finished"] for step in body["steps"][:-1]] == [False] * (trace.num_steps - 1)


@pytest.mark.parametrize("value", [0, 1, 0.005, 0.015, 0.114797, 0.004999, 0.995001, 0.999999, -0.004999, 12.345678])
def test_numbers_show_the_same_two_decimals_as_in_a_sentence(value: float) -> None:
    assert f"{short(value):.2f}".lstrip("-") == f"{value:.2f}".lstrip("-")
    assert short(value) == pytest.approx(value, abs=1.1e-5)


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


@pytest.mark.parametrize(("decoder", "block"), [("dard", None), ("dard", 8), ("wino", None)])
def test_reach_is_what_the_engine_says(decoder: str, block: int | None) -> None:
    trace = decoded(20, 12, decoder, block)
    body = received(payload(trace))
    masks = Masks(body)
    for step, sent in zip(trace.steps, body["steps"], strict=True):
        _, depth = masks.take(sent)
        found = analysis(step)
        if step.mask is None:
            assert found is None and "contaminated" not in sent
            continue
        assert found is not None
        nearest: dict[int, int] = {}
        heard: dict[int, set[int]] = {}
        for position, candidate, layers in contaminated(step):
            nearest[position] = min(layers, nearest.get(position, 255))
            heard.setdefault(position, set()).add(candidate)
        assert sent.get("contaminated", {}) == {str(i): layers for i, layers in sorted(nearest.items())}
        assert {i: set(candidates) for i, (_, candidates) in found.sources.items()} == heard
        assert (depth is None) == (found.depth is None)
        if depth is not None:
            assert (depth == found.depth).all()
            assert depth.any() and not depth[step.mask].any()


def test_a_graph_travels_by_the_step_and_comes_along_in_a_replay() -> None:
    trace = decoded(13, 400, "dapd")
    body, whole = received(payload(trace)), received(payload(trace, lives=True))
    assert "graphs" not in body
    for step, sent in zip(trace.steps, body["steps"], strict=True):
        assert step.graph is not None and step.graph.cells is not None
        assert (sent["graph"]["positions"], sent["graph"]["limit"]) == (step.graph.positions, step.graph.limit)
        assert {int(i): tuple(by) for i, by in sent["graph"]["blocked"].items()} == step.graph.blocked
        cells = graph(trace, step.index)["cells"]
        assert zlib.decompress(base64.b64decode(cells)) == step.graph.cells.tobytes()
        assert whole["graphs"][str(step.index)] == cells
        for i, (by, _) in step.graph.blocked.items():  # who kept it waiting was looked at, and most of all
            assert sent["life"]["at"][str(i)]["g"][0] == by
    assert graph(trace, 0)["cells"] == graph(trace, 999)["cells"] == ""


def test_a_mix_travels_as_words_and_shares() -> None:
    trace = decoded(13, 400, "remix")
    body, made = received(payload(trace)), 0
    for step, sent in zip(trace.steps, body["steps"], strict=True):
        assert ("soft" in sent) == (step.soft is not None)
        for i, words in sent.get("soft", {}).items():
            assert step.soft is not None
            assert list(zip(words[::2], words[1::2], strict=True)) == [
                (word, round(10_000 * share)) for word, share in step.soft.at(int(i)) if share
            ]
            assert {str(word) for word in words[::2]} <= body["words"].keys()
            made += bool(words)
    assert made


def test_a_life_tells_every_step_of_a_token() -> None:
    trace = decoded(20, 12)
    contaminations = 0
    for position in (0, 7, 19):
        told = received(life(trace, position))
        assert [part["y"] for part in told["steps"]] == [trace.why(step, position) for step in trace.steps]
        for part, step in zip(told["steps"], trace.steps, strict=True):
            guesses = {name: top.at(position) for name, top in step.paths.items() if top.at(position)}
            sent = part.get("paths", {})
            assert {name: row[::2] for name, row in sent.items()} == {
                name: [token for token, _ in row] for name, row in guesses.items()
            }
            assert all(str(token) in told["words"] for row in sent.values() for token in row[::2])
            for name, row in sent.items():
                assert [p / 10_000 for p in row[1::2]] == [p for _, p in guesses[name]]
            if step.mask is not None:
                assert part["d"] == ("mix" if step.states_before[position] == "M" else "s")
            heard = [layers for i, _, layers in contaminated(step) if i == position]
            assert ("k" in part) == bool(heard)
            if heard:
                contaminations += 1
                assert f"through {min(heard)} layer" in part["k"]
    assert contaminations


def test_lives_come_along_for_short_regions_only() -> None:
    assert all("life" in step for step in payload(decoded(20, 5))["steps"])
    long = payload(decoded(80, 3))
    assert not any("life" in step for step in long["steps"])
    assert "lives" not in long and not long["lives_along"]
    kept = payload(decoded(80, 3), lives=True)
    assert len(kept["lives"]) == 80
    assert kept["lives"][9] == life(decoded(80, 3), 9)


@pytest.mark.parametrize("position", [-1, 12, True, "3", None, 1.0])
def test_a_position_that_is_not_there_is_refused(position: Any) -> None:
    with pytest.raises(dard.InputError, match="position"):
        life(los(), position)


def test_an_edited_branch_is_sent_as_it_stands() -> None:
    session = dard.Session(los_diego(), LOS_DIEGO, tau_c=0.4, tau_u=0.8)
    session.step()
    branch = session.edit(3, token="San", state="U")
    branch.run()
    body = received(payload(branch.trace))
    assert body["steps"][0]["events"]["edited"] == [3]
    assert [sent["tokens"] for sent in body["steps"]] == [step.tokens for step in branch.trace.steps]
    start = header(dard.Session(los_diego(), LOS_DIEGO).edit(3, token="San", state="U").trace)["start"]
    assert start["edited"] == [3]


def test_weights_are_explained() -> None:
    trace = los()
    for step, sent in zip(trace.steps, payload(trace)["steps"], strict=True):
        assert sent["notes"] == step.notes
        if any(w is not None for w in step.weights):
            assert sent["notes"]["w"]


def foreign() -> Trace:
    """A trace of a decoder nobody has registered, made with the public constructors."""
    about = About(
        columns=[Column("body heat", "h", "how hot it is")],
        paths=[Path("gut feeling", "Gut", "the first idea", "the gut decides")],
        events={"sneezed": Event("sneezed at", "nobody knows why"), "demoted": Event("forgotten")},
        title="Stranger",
        rule="sneezes",
    )
    steps = [
        Step(
            index=1,
            block=(0, 2),
            tokens=[5, 0],
            states="UM",
            columns={"confidence": [0.5, 0.25], "body heat": [None, 0.12]},
            paths={"gut feeling": Top([0], 2, [5, 6], [5000, 2500])},
            events={"decided": [0], "sneezed": [1]},
        ),
        Step(2, (0, 2), [0, 0], "MM", columns={"confidence": [0.1, 0.2]}, events={"demoted": [0]}),
    ]
    return Trace(
        model="none",
        num_layers=1,
        decoder="stranger",
        settings={},
        prompt="?",
        prompt_tokens=[],
        mask_id=0,
        eos_id=None,
        fixed=[False, False],
        start=Start([0, 0], "MM", [0.0, 0.0]),
        steps=steps,
        token_text={0: "[MASK]", 5: "five", 6: "six"},
        text="",
        about=about,
    )


@pytest.mark.parametrize("from_file", [False, True])
def test_a_decoder_nobody_registered_is_shown_as_it_describes_itself(from_file: bool) -> None:
    trace = Trace.from_bytes(foreign().to_bytes()) if from_file else foreign()
    body = received(payload(trace))
    about = body["about"]
    assert (body["name"], about["title"], about["rule"]) == ("Stranger", "Stranger", "sneezes")
    assert [column["name"] for column in about["columns"]] == ["body heat"]
    assert about["paths"][0]["decides"] == "the gut decides"
    assert about["events"]["sneezed"]["title"] == "sneezed at"
    assert about["events"]["demoted"]["title"] == "forgotten"
    assert about["events"]["promoted"]["title"] == "promoted"
    one, two = body["steps"]
    assert one["columns"]["body heat"] == [None, 0.12]
    assert one["events"] == {"decided": [0], "sneezed": [1]}
    assert one["life"]["at"]["0"]["paths"] == {"gut feeling": [5, 5000, 6, 2500]}
    assert one["life"]["at"]["0"]["d"] == "gut feeling"
    assert "'five' decided" in one["say"] and "sneezed at" in one["say"]
    assert "'five' forgotten" in two["say"]
    assert two["life"]["at"]["0"]["y"] == "'five' was revoked: confidence 0.10."


EVIL = "</script>\u202e\x00" + "x" * 2000


def test_what_a_trace_says_of_itself_is_bounded_and_visible() -> None:
    """A file is checked; a trace made in Python may say anything."""
    trace = foreign()
    about = replace(trace.about, title=EVIL, events={EVIL: Event(EVIL)}, symbols={EVIL: EVIL})
    notes = replace(trace.steps[0], notes={EVIL: EVIL}, columns={**trace.steps[0].columns, EVIL: [0.0, 0.0]})
    hostile = replace(trace, about=about, model=EVIL, prompt=EVIL, steps=[notes], token_text={0: EVIL, 5: EVIL})

    def texts(value: Any) -> list[str]:
        if isinstance(value, dict):
            return [text for pair in value.items() for each in pair for text in texts(each)]
        return [text for each in value for text in texts(each)] if isinstance(value, list) else [str(value)]

    for text in texts(received(payload(hostile))):
        assert len(text) <= module.PROMPT_AT_MOST and text.isprintable(), text[:80]


@pytest.mark.parametrize("ordering", ["confidence", "entropy", "margin", "l2r", "bidirectional"])
def test_every_cell_of_a_mask_has_a_reason(ordering: str) -> None:
    """Whatever the states, the page finds a sentence for each cell."""
    for trace in (decoded(12, 6, ordering=ordering), decoded(12, 40, "wino")):
        about = header(trace)["about"]
        assert about["shadow"]
        for step in trace.steps:
            if step.mask is not None:
                check_cells(step, about["cells"])


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


def test_a_long_run_travels_in_120_kilobytes(capsys: pytest.CaptureFixture[str]) -> None:
    """256 positions, 60 steps, everything but the lives; and a short run with its lives."""
    size, small = len(pack(payload(long_trace()))), decoded(32, 36)
    with_lives = len(pack(payload(small)))
    bare = payload(small)
    for step in bare["steps"]:
        del step["life"]
    with capsys.disabled():
        print(
            f"\n256 × 60 without lives: {size / 1000:.0f} KB; 32 × {small.num_steps}: {len(pack(bare)) / 1000:.0f} KB"
        )
        print(f"32 × {small.num_steps} with every token's life: {with_lives / 1000:.0f} KB")
    assert size <= 120_000
    assert len(pack(bare)) <= 30_000


def test_a_trace_too_large_for_a_browser_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_CELLS", 30)
    with pytest.raises(dard.InputError, match="12 positions and 5 steps"):
        payload(los())


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
    assert all(0 <= threshold["at"] <= 1 for threshold in sent["about"]["thresholds"])


# Answers that stand in rows.

PUZZLE = "Sudoku : 2 0 0 0 0 1 0 0 0 0 0 0 0 0 0 2 Solution :"
SOLVED = "2 3 4 1 4 1 2 3 1 2 3 4 3 4 1 2"


def test_every_recorded_sudoku_has_a_board_and_nothing_else_has() -> None:
    boards = 0
    for path in sorted(GALLERY.glob("*.trace.json.gz")):
        trace = Trace.load(path)
        body = received(payload(trace))
        moments = [body["start"], *body["steps"]]
        sudoku = trace.prompt.startswith("Sudoku")
        assert [("board" in moment) for moment in moments] == [sudoku] * len(moments) and ("board" in body) == sudoku
        if not sudoku:
            continue
        boards += 1
        assert body["board"]["width"] == 4 and body["board"]["box"] == 2
        assert [given or "0" for given in body["board"]["given"]] == trace.prompt.split()[2:18]
        for moment in moments:
            words = [None if token == trace.mask_id else trace.word(token) for token in moment["tokens"]]
            told = moment["board"]
            pairs = [mark["places"] for mark in told["marks"] if mark["units"]]
            assert all(words[a] == words[b] is not None for a, b in pairs)
            assert told["say"].startswith(f"{len(pairs) or 'no'} clash")
            assert len(told["lines"]) == min(len(told["marks"]), 2)
        assert moments[-1]["right"] == (not moments[-1]["board"]["marks"])
    assert boards == 7


def test_what_follows_the_cells_belongs_to_the_run_and_not_to_the_board() -> None:
    body = payload(written(PUZZLE, f"{SOLVED} [EOS] [EOS] 1"))
    assert len(body["board"]["given"]) == 16 and body["length"] == 19
    assert body["steps"][-1]["right"] and body["steps"][-1]["board"]["marks"] == []
    body = payload(written(PUZZLE, f"{SOLVED} 1 [EOS] fish"))
    assert not body["steps"][-1]["right"]
    assert body["steps"][-1]["board"]["lines"] == ["1 word after the last cell"]


def test_many_faults_are_summed_up_and_words_in_them_bounded() -> None:
    trace = written(PUZZLE, "1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 fish")
    trace = replace(trace, token_text={**trace.token_text, trace.tokens[-1]: "\u202e<b>" + "x" * 900})
    told = payload(trace)["steps"][-1]["board"]
    assert len(told["lines"]) == 2 and told["lines"][0] == "'1' twice in row 1 and box 1"
    assert told["lines"][1] == f"and {len(told['marks']) - 1} more: row 1, box 2, row 2 …"
    sentences = [mark["say"] for mark in told["marks"]]
    assert any("⟨202E⟩<b>xx" in text for text in sentences) and max(map(len, sentences)) < 120


def test_what_a_sudoku_is_stays_in_its_task() -> None:
    sources = [GALLERY.parent.parent / "visual" / "payload.py", *sorted((GALLERY.parent / "web").iterdir())]
    assert len(sources) > 30
    named = [path.name for path in sources if "sudoku" in path.read_text(encoding="utf-8").lower()]
    assert named == ["watch.js"], "which has a link to one"


def test_a_line_stays_a_line_where_cells_are_not_tokens() -> None:
    trace = written(PUZZLE, SOLVED)
    assert "board" in header(trace)
    nought = next(token for token, word in trace.token_text.items() if word == "0")
    assert "board" not in header(replace(trace, token_text={**trace.token_text, nought: " 0"}))
    short_run = written(PUZZLE, SOLVED[:-2])
    assert "board" not in header(short_run) and "board" not in payload(short_run)["steps"][-1]
