"""What the browser is sent: that it is the trace, that it is small, and that no text in it can surprise."""

from __future__ import annotations

import base64
import gzip
import json
import zlib
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

import dard
from dard.models.scripted import LOS_DIEGO, los_diego
from dard.trace import Step, Trace
from dard.trace.about import About, Column, Event, Path
from dard.trace.records import Start, Top
from dard.trace.words import Words, summary
from tests.helpers import ALL_DECODERS
from tests.tiny import long_trace, random_model, written
from visual import payload as module
from visual.payload import graph, header, life, pack, payload, sentence, shown, step_payload
from visual.server.cases import GALLERY


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


def mask_of(step: Step, sent: dict[str, Any]) -> np.ndarray | None:
    """The one thing that is packed, unpacked in a few literal lines: the mask, and what the outside saw below it."""
    if "mask" not in sent:
        return None
    (start, end), states, confidence = step.block, step.states_before, step.confidence_before
    order = sorted(range(end - start), key=lambda i: ("MCU".index(states[start + i]), -confidence[start + i], i))
    order += [i + end - start for i in order]
    size = len(order)
    data = np.frombuffer(zlib.decompress(base64.b64decode(sent["mask"])), np.uint8).reshape(-1, -(-size // 8))
    rows = np.unpackbits(np.bitwise_xor.accumulate(data, axis=0), axis=1, count=size).astype(bool)
    whole = np.zeros_like(rows)
    for place, row in zip([*order, size], rows, strict=False):
        whole[place, order] = row
    return whole


@pytest.mark.parametrize("decoder", ALL_DECODERS)
@pytest.mark.parametrize(("length", "block"), [(13, None), (20, 8)])
def test_what_is_sent_is_what_is_saved(decoder: str, length: int, block: int | None) -> None:
    """A payload is the file, but for the words that nobody needs, and with what stands in the module's docstring."""
    trace = decoded(length, 400, decoder, block)
    body, saved = received(payload(trace)), json.loads(trace.to_bytes(compress=False))
    words, about = body.pop("token_text"), body.pop("about")
    assert (body.pop("name"), body.pop("asks")) == (trace.about.title, False)
    assert words.items() <= saved.pop("token_text").items()
    assert about["events"].items() >= saved["about"].pop("events").items()
    assert {name: part for name, part in about.items() if name != "events"} == saved.pop("about")
    for step, sent in zip(trace.steps, body["steps"], strict=True):
        mask = mask_of(step, sent)
        assert (mask is None) == (step.mask is None)
        if mask is not None:
            outside = [] if step.outside_keys is None else [step.outside_keys]
            assert (mask == np.vstack([step.mask, *outside])).all()
        told = sent["annotation"].pop("why")
        assert {int(i) for i in told} == set(range(length)) - set(step.why)
        assert all(trace.why(step, int(i)) == text for i, text in told.items())
        assert sent["annotation"]["say"] == summary(step, trace.about, Words(trace.word))
    assert body == saved


def test_a_live_run_sends_the_same_steps() -> None:
    trace = los()
    whole = payload(trace)["steps"]
    for step, together in zip(trace.steps, whole, strict=True):
        alone = step_payload(trace, step)
        alone.pop("words", None)
        assert alone == together


def test_a_live_run_names_its_new_words() -> None:
    trace = los()
    known = set(header(trace)["token_text"])
    for step in trace.steps:
        known |= set(step_payload(trace, step).get("words", {}))
        assert {str(token) for token in step.tokens} <= known


def test_a_graph_travels_by_the_step_where_it_is_long() -> None:
    trace = decoded(13, 400, "dapd")
    for step, sent in zip(trace.steps, received(payload(trace))["steps"], strict=True):
        assert step.graph is not None and step.graph.cells is not None
        cells = graph(trace, step.index)["cells"]
        assert zlib.decompress(base64.b64decode(cells)) == step.graph.cells.tobytes()
        assert sent["graph"]["cells"] == cells
    assert graph(trace, 0)["cells"] == graph(trace, 999)["cells"] == ""
    long = decoded(80, 2, "dapd")
    assert not any("cells" in step["graph"] for step in payload(long)["steps"])
    found = long.steps[0].graph
    assert found is not None and found.cells is not None
    (told, _) = life(long, found.positions[3])["steps"]
    assert told["cells"] == found.cells[3].tolist()


def test_the_words_of_a_mix_come_along() -> None:
    trace = decoded(13, 400, "remix")
    body = received(payload(trace))
    mixed = {str(word) for step in trace.steps if step.soft for word in step.soft.ids}
    assert mixed and mixed <= body["token_text"].keys()


def test_a_life_tells_every_step_of_a_token() -> None:
    trace = decoded(20, 12)
    for position in (0, 7, 19):
        told = received(life(trace, position))
        for part, step in zip(told["steps"], trace.steps, strict=True):
            assert part["why"] == {str(position): trace.why(step, position)}
            assert {
                name: list(zip(top["ids"], top["p"], strict=True)) for name, top in part.get("paths", {}).items()
            } == {
                name: [(token, round(10_000 * p)) for token, p in top.at(position)]
                for name, top in step.paths.items()
                if top.at(position)
            }
            assert all(str(token) in told["words"] for top in part.get("paths", {}).values() for token in top["ids"])


def test_everything_comes_along_in_short_regions_only() -> None:
    assert all("paths" in step and "why" in step["annotation"] for step in payload(decoded(20, 5))["steps"])
    long = payload(decoded(80, 3))
    assert long["asks"]
    assert not any(part in step or part in step["annotation"] for step in long["steps"] for part in ("paths", "why"))
    assert not payload(decoded(80, 3), lives=True)["asks"]


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
    one, two = (step["annotation"] for step in body["steps"])
    assert "'five' at 0 decided" in one["say"] and "sneezed at" in one["say"]
    assert "'five' at 0 forgotten" in two["say"]
    assert two["why"]["0"] == "'five' at 0 was revoked: confidence 0.10."


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


def test_a_long_run_travels_in_120_kilobytes(figure: Callable[[str], None]) -> None:
    """256 positions, 60 steps, everything but the lives; and a short run with its lives."""
    long = payload(long_trace())
    size, small = len(pack(long)), decoded(32, 36)
    assert 0 < sum(len(step.get("mask", "")) for step in long["steps"]) < 30_000
    with_lives = len(pack(payload(small)))
    bare = payload(small)
    for step in bare["steps"]:
        for part in ("paths", "why"):
            step.pop(part, None)
        del step["annotation"]["why"]
    figure(f"256 × 60 without lives: {size / 1000:.0f} KB; 32 × {small.num_steps}: {len(pack(bare)) / 1000:.0f} KB")
    figure(f"32 × {small.num_steps} with every token's life: {with_lives / 1000:.0f} KB")
    assert size <= 120_000
    assert len(pack(bare)) <= 25_000 and with_lives <= 110_000


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
    assert len(sent["steps"]) == 5
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
        looks = ["look" in moment.get("annotation", {}) for moment in moments]
        assert looks == [sudoku] * len(moments) and ("board" in body.get("annotation", {})) == sudoku
        if not sudoku:
            continue
        boards += 1
        board = body["annotation"]["board"]
        assert board["width"] == 4 and board["box"] == 2
        assert [given or "0" for given in board["given"]] == trace.prompt.split()[2:18]
        for moment in moments:
            words = [None if token == trace.mask_id else trace.word(token) for token in moment["tokens"]]
            told = moment["annotation"]["look"]
            pairs = [mark["places"] for mark in told["marks"] if mark["units"]]
            assert all(words[a] == words[b] is not None for a, b in pairs)
            assert told["say"].startswith(f"{len(pairs) or 'no'} clash")
            assert len(told["lines"]) == min(len(told["marks"]), 2)
        assert moments[-1]["annotation"]["right"] == (not moments[-1]["annotation"]["look"]["marks"])
    assert boards == 7


def test_what_follows_the_cells_belongs_to_the_run_and_not_to_the_board() -> None:
    body = payload(written(PUZZLE, f"{SOLVED} [EOS] [EOS] 1"))
    assert len(body["annotation"]["board"]["given"]) == 16 and len(body["fixed"]) == 19
    told = body["steps"][-1]["annotation"]
    assert told["right"] and told["look"]["marks"] == []
    body = payload(written(PUZZLE, f"{SOLVED} 1 [EOS] fish"))
    told = body["steps"][-1]["annotation"]
    assert not told["right"] and told["look"]["lines"] == ["1 word after the last cell"]


def test_many_faults_are_summed_up_and_words_in_them_bounded() -> None:
    trace = written(PUZZLE, "1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 fish")
    trace = replace(trace, token_text={**trace.token_text, trace.tokens[-1]: "\u202e<b>" + "x" * 900})
    told = payload(trace)["steps"][-1]["annotation"]["look"]
    assert len(told["lines"]) == 2 and told["lines"][0] == "'1' twice in row 1 and box 1, columns 1 and 2"
    assert told["lines"][1] == f"and {len(told['marks']) - 1} more: row 1, box 2, row 2 …"
    sentences = [mark["say"] for mark in told["marks"]]
    assert any("<b>xx" in text for text in sentences) and max(map(len, sentences)) < 120


def test_what_a_sudoku_is_stays_in_its_task() -> None:
    sources = [
        GALLERY.parent.parent / "visual" / "payload.py",
        GALLERY.parent.parent / "dard" / "trace" / "annotations.py",
        *sorted((GALLERY.parent / "web").glob("*/*")),
    ]
    assert len(sources) > 30
    named = [path.name for path in sources if "sudoku" in path.read_text(encoding="utf-8").lower()]
    assert named == ["watch.js"], "which has a link to one"


def test_a_line_stays_a_line_where_cells_are_not_tokens() -> None:
    trace = written(PUZZLE, SOLVED)
    assert "annotation" in header(trace)
    nought = next(token for token, word in trace.token_text.items() if word == "0")
    assert "annotation" not in header(replace(trace, token_text={**trace.token_text, nought: " 0"}))
    short_run = written(PUZZLE, SOLVED[:-2])
    assert "annotation" not in header(short_run)
