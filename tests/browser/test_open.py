"""The page that is only a file and shows any trace, and the reader of traces behind it."""

from __future__ import annotations

import base64
import copy
import gzip
import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from playwright.sync_api import Page, expect

import dard
from dard.analysis.reach import contaminated, reach_depth, with_outside
from dard.cli.main import main
from dard.core.folders import assets
from dard.models.scripted import LOS_DIEGO, los_diego
from dard.trace import Step, Trace, TraceError
from dard.trace.masks import BlockMask
from dard.trace.records import Start, Top
from tests.browser.conftest import Visit
from tests.browser.test_canvases import noise
from tests.browser.test_replay import HOSTILE, SCRUB, long_session, los, report
from tests.helpers import ALL_DECODERS, body_of
from tests.test_cause import city
from tests.test_session import session_of
from tests.test_trace import BROKEN
from tests.tiny import random_model
from visual.export import open_html, reader
from visual.payload import pack, payload, shown
from visual.server.cases import gallery
from visual.web import script

Visiting = Callable[..., Visit]
GALLERY = sorted(assets("gallery").glob("*.trace.json.gz"))
READ = """async (data) => {
    const bytes = Uint8Array.from(atob(data), (c) => c.charCodeAt(0));
    try { await readTrace(bytes, reader); return { fine: true }; }
    catch (error) { return { error: error.message, kind: error.constructor.name }; }
}"""


def sent(data: bytes) -> str:
    return base64.b64encode(data).decode()


@pytest.fixture
def reading(visit: Visiting, tmp_path: Path) -> Page:
    """A page with the reader alone."""
    parts = {
        "data/packed.js": "unpack", "data/trace.js": "readTrace", "data/unpack.js": "Lane",
        "data/masks.js": "receive, inOrder", "data/reach.js": "reachDepth",
    }  # fmt: skip
    scripts = "".join(
        f'<script type="module">{script(name)}\nObject.assign(window, {{ {names} }});</script>'
        for name, names in parts.items()
    )
    file = tmp_path / "reader.html"
    file.write_text(
        f"""<!doctype html><meta charset="utf-8"><title>reader</title><body>reader
        <script type="text/plain" id="data">{pack(reader())}</script>{scripts}
        <script type="module">window.reader = await unpack(document.getElementById('data').textContent);
        document.body.setAttribute('data-ready', '');</script>""",
        encoding="utf-8",
    )
    return visit(file.as_uri()).page


# Where two lanes differ: in their frames, what is known of positions, causes and heads.
LANES = """async ([data, sent]) => {
    const bytes = Uint8Array.from(atob(data), (c) => c.charCodeAt(0));
    const [mine, theirs] = await Promise.all([readTrace(bytes, reader).then(Lane.open), Lane.open(sent)]);
    const differ = [];
    const sorted = (_, value) => (value && typeof value === 'object' && !Array.isArray(value)
        ? Object.fromEntries(Object.entries(value).sort()) : value);
    const text = (value) => JSON.stringify(value, sorted);
    const same = (name, a, b) => text(a) === text(b) || differ.push([name, a, b]);
    for (let i = 0; i < mine.length; i++) await Promise.all([mine.fetchHistory(i), theirs.fetchHistory(i)]);
    const told = [];
    mine.frames.forEach((frame, t) => {
        const other = theirs.frames[t];
        for (const name of ['index', 'block', 'events', 'say', 'notes', 'finished', 'revokes', 'revoked',
            'ghost', 'marks', 'tokens', 'states', 'hidden', 'soft', 'plain', 'columns', 'confidence', 'took',
            'right', 'look', 'contaminated']) same(`${t} ${name}`, frame[name], other[name]);
        same(`${t} graph`, { ...frame.graph, cells: null }, { ...other.graph, cells: null });
        for (const name of ['mask', 'cells', 'depth']) same(`${t} ${name}`, String(frame[name]), String(other[name]));
        if (t) for (let i = 0; i < mine.length; i++) {
            const [one, two] = [frame.slices[i], other.slices[i]];
            for (const name of ['paths', 'decider', 'looked', 'warning'])
                same(`${t} ${i} ${name}`, one[name], two[name]);
            told.push([t, i, one.sentence, two.sentence]);
        }
    });
    for (const name of ['head', 'about', 'board', 'free', 'length']) same(name, mine[name], theirs[name]);
    same('causes', [...mine.causes], [...theirs.causes]);
    same('diagnosis', mine.diagnosis, theirs.diagnosis);
    const words = [...theirs.words.keys()].filter((id) => mine.word(id) !== theirs.word(id));
    return { differ, told, words, frames: mine.frames.length };
}"""


def explained(session: dard.Session, steps: slice = slice(None), **options: Any) -> Trace:
    """A decode with the causes of every verdict there was on its free positions, in some of its steps."""
    session.run()
    trace = session.trace
    for step in trace.steps[steps]:
        for position in session.at(step.index - 1).state.free():
            try:
                *_, verdict = dard.examine(session, step.index, position, **options)
                trace.causes.append(verdict)
            except dard.InputError:  # a later block, which this step did not look at
                continue
    assert trace.causes
    return trace


def by_hand() -> list[Trace]:
    """Tokens hidden from everyone, from one check, of the prompt, and where there is no mask; edits at the start and
    later."""
    session, plain = session_of(seed=3, tau_c=0.15, tau_u=0.3), session_of("standard")
    session.run(), plain.run()
    place = next(i for i in session.at(1).state.free() if session.at(1).state.states[i] != "M")
    free = next(i for i in session.at(1).state.free() if i != place)
    given = next(i for i in plain.at(1).state.free() if plain.at(1).state.states[i] != "M")
    hidden = [
        session.at(1).hide(place),
        session.at(1).hide(place, free),
        session.at(1).hide(-2),
        plain.at(1).hide(given),
    ]
    edited = [session.at(0).edit(0, "w9"), session.at(1).edit(place, state="M"), session.at(1).edit(free, "w8")]
    found = [*(explained(each, slice(1, 2)) for each in hidden), *(each.run() for each in edited)]
    assert sum(step.hidden is not None for trace in found for step in trace.steps) == len(hidden)
    return found


def recordings() -> list[Trace]:
    """What others recorded: nothing measured, some of it, and masks of the block alone."""
    frames = [[7, 0, 0], [7, 8, 0], [7, 0, 9], [7, 8, 9]]
    bare = Trace.from_tokens(frames, 0, {7: "a", 8: " ", 9: "c\n"})
    some = Trace.from_tokens(frames, 0, confidence=[[None, 0.5, None], [None, None, 0.25], [None, 0.125, 1.0]])
    for step in some.steps:
        step.set_mask(np.tri(2, dtype=bool))
    return [bare, some, recording(40, 6)]


def blocks() -> Trace:
    """Of a model that sees no later block."""
    model = copy.copy(random_model(5))  # the tests' own, kept for all, sees every block
    model.block_size = 4
    return dard.Session(model, [5, 6, 7], gen_length=9, tau_c=0.15, tau_u=0.3).run()


def boards() -> list[Trace]:
    """Whose sentences name rows and columns, with causes; one with a cell hidden by hand, one with a cell edited."""
    case = next(case for case in gallery() if case["name"] == "A Sudoku that clashes")
    session = dard.Session(dard.load_model("embedded"), case["prompt"], **case["settings"])
    session.run()
    edited = session.at(2).edit(4, state="M")
    return [explained(session, slice(1, 2)), explained(session.at(1).hide(2), slice(1, 2)), edited.run()]


def diagnosed(expected: str) -> Trace:
    session = dard.Session(los_diego(), LOS_DIEGO, "standard", steps=1)
    session.run()
    trace = session.trace
    trace.diagnosis = dard.diagnose(session, expected=expected)
    return trace


KINDS: dict[str, Callable[[], list[Trace]]] = {
    "gallery": lambda: [Trace.load(path) for path in GALLERY],
    "long": lambda: [los(), long_session(37, 6).trace],
    "every decoder": lambda: [session_of(name).run() for name in ALL_DECODERS],
    "causes": lambda: [explained(session_of(seed=3, tau_c=0.15, tau_u=0.3), slice(0, 3)), explained(city())],
    "causes, not all": lambda: [explained(each, slice(1, 2), seconds=0) for each in (city(), session_of("wino"))],
    "by hand": by_hand,
    "boards": boards,
    "recordings": recordings,
    "blocks": lambda: [blocks()],
    "diagnosed": lambda: [diagnosed("/San Diego|Los Angeles/"), diagnosed("nowhere")],
    "unfinished": lambda: [session_of().trace, session_of().at(0).edit(2, "w9").trace],
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_is_shown_as_the_server_shows_it(reading: Page, kind: str) -> None:
    """Traces of every kind there is, but for the sentences about what did not change, which are not in a file."""
    for trace in KINDS[kind]():
        found = reading.evaluate(LANES, [sent(trace.to_bytes()), json.loads(json.dumps(payload(trace, lives=True)))])
        assert found["differ"] == [] and found["words"] == [] and found["frames"] == trace.num_steps + 1
        for index, position, one, other in found["told"]:
            step = trace.steps[index - 1]
            assert other == (step.why.get(position) or trace.why(step, position, causes=False)).replace("\n", "↵")
            if position in step.why:
                assert one == other
            else:
                assert "Nothing changed here" in one and step.states[position] == step.states_before[position]


def test_a_file_of_version_2_is_shown(reading: Page) -> None:
    """As one of today's, but for what it never held: annotations."""
    for path in sorted((Path(__file__).parents[1] / "files").glob("*.gz")):
        today = json.loads(json.dumps(payload(Trace.load(path), lives=True)))
        found = reading.evaluate(LANES, [sent(path.read_bytes()), today])
        lacking = {name.split()[-1] for name, *_ in found["differ"]}
        assert lacking <= {"say", "right", "look", "board"} and "say" in lacking and found["words"] == []
        says = [one for name, one, _ in found["differ"] if name.endswith("say")]
        count = r"\w[\w ]*: \d+ positions?"
        assert all(re.fullmatch(rf"Step \d+\. {count}(; {count})*\.", one) for one in says)


def test_annotations_may_be_empty(reading: Page) -> None:
    """As a schema allows and another program may write them."""
    trace = explained(city(), slice(0, 2))
    file = json.loads(gzip.decompress(trace.to_bytes()))
    for moment in (file, file["start"], *file["steps"], *file["causes"]):
        moment["annotation"] = None
    today = json.loads(json.dumps(payload(trace, lives=True)))
    found = reading.evaluate(LANES, [sent(json.dumps(file).encode()), today])
    assert {name.split()[-1] for name, *_ in found["differ"]} <= {"say", "right", "causes"}


# What a packed mask is in a browser: its rows, and what reaches what through it.
UNPACKED = """async ([step, states, confidence, layers]) => {
    await receive([step]);
    const { size, height } = step.rows;
    const before = { states: Uint8Array.from(states, (letter) => 'MCU'.indexOf(letter)), confidence };
    const bits = inOrder(step.rows, step.block, before);
    return { size, height, bits: [...bits], depth: [...reachDepth(bits, size, height, layers)] };
}"""


def test_masks_and_reach_are_the_same_in_both_languages(reading: Page) -> None:
    @settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.data())
    def one(data: st.DataObject) -> None:
        count, layers = data.draw(st.integers(1, 18)), data.draw(st.integers(1, 6))
        states = data.draw(st.text("MCU", min_size=count, max_size=count))
        confidence = data.draw(st.lists(st.none() | st.floats(0, 1), min_size=count, max_size=count))
        size = count * data.draw(st.sampled_from([1, 2]))
        bit = np.random.default_rng(data.draw(st.integers(0, 99)))
        mask = bit.random((size, size)) < data.draw(st.sampled_from([0.1, 0.5, 0.9]))
        outside = bit.random(size) < 0.3 if size > count and data.draw(st.booleans()) else None
        text = BlockMask.of(mask, outside).pack((states, confidence))
        found = reading.evaluate(UNPACKED, [{"block": [0, count], "mask": text}, states, confidence, layers])
        whole = mask if outside is None else np.vstack([mask, outside])
        assert (found["size"], found["height"]) == (size, len(whole))
        assert found["bits"] == np.packbits(whole, axis=1).flatten().tolist()
        depth = reach_depth(mask if outside is None else with_outside(mask, outside), layers)[:size, :size]
        assert found["depth"] == np.where(mask, 0, depth).flatten().tolist()

    one()


HEARD = """async (sent) => (await Lane.open(sent)).frames.slice(1).map((frame) => [...frame.heard]
    .map(([i, { layers, candidates }]) => [i, layers, candidates, frame.slices[i].warning]))"""


@pytest.mark.parametrize("decoder", ["dard", "wino"])
def test_contamination_is_what_the_library_says(reading: Page, decoder: str) -> None:
    session = session_of(decoder, gen_length=20, block_length=8, seed=3)
    trace, told = session.run(), 0
    for step, heard in zip(trace.steps, reading.evaluate(HEARD, json.loads(json.dumps(payload(trace)))), strict=True):
        wanted: dict[int, list[tuple[int, int]]] = {}
        for position, candidate, layers in contaminated(step):
            wanted.setdefault(position, []).append((layers, candidate))
        assert {i: (layers, candidates) for i, layers, candidates, _ in heard} == {
            i: (min(pairs)[0], [candidate for _, candidate in sorted(pairs)]) for i, pairs in wanted.items()
        }
        for _, layers, _, said in heard:
            told += 1
            assert said.startswith("Traces of ") and f"after {layers} layer" in said
    assert told or decoder == "wino"


def test_texts_from_traces_are_bounded_and_visible(reading: Page) -> None:
    """Also those of a trace made in Python, which nobody has checked; as the server has it for its own texts."""
    evil = "</script>\u202e\x00" + "x" * 2000
    trace = los()
    about = replace(trace.about, title=evil, events={evil: dard.Event(evil)}, symbols={evil: evil})
    step = replace(trace.steps[0], notes={evil: evil}, ended_by=evil, why={0: evil})
    hostile = replace(
        trace, about=about, model=evil, prompt=evil, steps=[step], token_text=dict.fromkeys(step.tokens, evil)
    )
    found = reading.evaluate(
        """async (sent) => {
            const { head, about, words, frames } = await Lane.open(sent);
            const told = frames.map(({ say, notes, slices }) => [say, notes, slices.map((slice) => slice.sentence)]);
            return JSON.parse(JSON.stringify([head, about, [...words.values()], told]));
        }""",
        json.loads(json.dumps(payload(hostile))),
    )

    def texts(value: Any) -> list[str]:
        if isinstance(value, dict):
            return [text for pair in value.items() for each in pair for text in texts(each)]
        return [text for each in value for text in texts(each)] if isinstance(value, list) else [str(value)]

    for text in texts(found):
        assert len(text) <= 4000 and text.isprintable(), text[:80]
    assert shown(evil) in found[2]


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a JSON value, a few of each list."""
    found = [path] if path else []
    if isinstance(value, dict):
        return found + [place for key in value for place in places(value[key], (*path, key))]
    if isinstance(value, list):
        return found + [place for k in range(min(3, len(value))) for place in places(value[k], (*path, k))]
    return found


JUNK = st.one_of(
    st.none(), st.booleans(), st.integers(-2, 20_000_000), st.floats(allow_nan=False, allow_infinity=False, width=32),
    st.text(max_size=4), st.sampled_from(["x" * 3000, "M", "U", [], {}, [0], {"0": 1}, [[1, 2]], "__proto__", -0.5]),
)  # fmt: skip


def mutated(body: dict[str, Any], place: tuple[Any, ...], change: str, junk: Any) -> dict[str, Any]:
    body = copy.deepcopy(body)
    at: Any = body
    for key in place[:-1]:
        at = at[key]
    if change == "delete":
        del at[place[-1]]
    elif change == "double" and isinstance(at, list):
        at.append(at[place[-1]])
    elif change == "add" and isinstance(at, dict):
        at[junk if isinstance(junk, str) else "more"] = junk
    else:
        at[place[-1]] = junk
    return body


def without_points(value: Any) -> Any:
    """Numbers as a browser knows them: it cannot tell 1.0 from 1."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {key: without_points(each) for key, each in value.items()}
    return [without_points(each) for each in value] if isinstance(value, list) else value


def los_session() -> dard.Session:
    session = dard.Session(los_diego(), LOS_DIEGO, tau_c=0.4, tau_u=0.8)
    session.run()
    return session


def test_what_the_server_refuses_the_page_refuses(reading: Page) -> None:
    hidden, lost = explained(los_session().at(1).hide(4)), diagnosed("/San Diego|Los Angeles/")
    wholes = [without_points(each.as_dict()) for each in (hidden, lost)]
    spots = [(n, place) for n, whole in enumerate(wholes) for place in places(whole)]

    @settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.sampled_from(spots), st.sampled_from(["replace", "delete", "double", "add"]), JUNK)
    def one(spot: tuple[int, tuple[Any, ...]], change: str, junk: Any) -> None:
        number, place = spot
        data = json.dumps(without_points(mutated(wholes[number], place, change, junk)), ensure_ascii=True).encode()
        try:
            Trace.from_bytes(data)
            fine = True
        except TraceError:
            fine = False
        found = reading.evaluate(READ, sent(data))
        assert ("fine" in found) == fine, (place, change, junk, found.get("error"))
        assert fine or (found["kind"] == "Error" and len(found["error"]) < 300 and "\n" not in found["error"])

    one()


def test_files_that_are_no_traces_are_refused_in_a_sentence(reading: Page) -> None:
    good = los().to_bytes()
    body = json.loads(gzip.decompress(good))
    bomb = gzip.compress(b" " * ((64 << 20) + 1))
    cases = {
        "not JSON": b"{", "not valid gzip": good[:-20], "not a DARD trace": b"[]",
        "version 1": json.dumps({**body, "version": 1}).encode(),
        "larger than 64 MB": bomb, "fields that are not known": json.dumps({**body, "more": 1}).encode(),
        "packed masks": json.dumps({**body, "steps": [{**body["steps"][0], "mask": sent(b"x")}]}).encode(),
    }  # fmt: skip
    for words, data in cases.items():
        found = reading.evaluate(READ, sent(data))
        assert words in found["error"] and found["kind"] == "Error", found


# The page.


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """A folder on a plain web server, which lets others read what is below /shared/."""

    class Handler(SimpleHTTPRequestHandler):
        def end_headers(self) -> None:
            if self.path.startswith("/shared/"):
                self.send_header("Access-Control-Allow-Origin", "*")
            super().end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The page and two traces."""
    folder = tmp_path_factory.mktemp("site")
    assert main(["view", "--page", str(folder / "view.html")]) == 0
    (folder / "shared").mkdir()
    for name, trace in {"one": los(), "shared/two": dard.decode(los_diego(), LOS_DIEGO, decoder="standard")}.items():
        trace.save(folder / f"{name}.json.gz")
    (folder / "bad.json").write_text("{}")
    (folder / "host.html").write_text(
        "<!doctype html><link rel=icon href='data:,'><title>host</title><body>host</body>"
    )

    with served(folder) as url:
        yield url


DROP = """(node, files) => {
    const data = new DataTransfer();
    for (const [name, content] of files) {
        data.items.add(new File([Uint8Array.from(atob(content), (c) => c.charCodeAt(0))], name));
    }
    for (const kind of ['dragover', 'drop']) {
        node.dispatchEvent(new DragEvent(kind, { dataTransfer: data, bubbles: true, cancelable: true }));
    }
}"""


def test_traces_dropped_on_a_file(visit: Visiting, tmp_path: Path) -> None:
    """Also hostile ones; what cannot be read is refused, and what is on screen stays."""
    (tmp_path / "view.html").write_text(open_html(), encoding="utf-8")
    page = visit((tmp_path / "view.html").as_uri(), ready="#tools button").page
    page.locator("body").evaluate(DROP, [["mine.json.gz", sent(los().to_bytes())]])
    expect(page.locator("#about")).to_have_text("DARD on los-diego, 5 steps")
    expect(page.locator("#prompt")).to_have_text(los().prompt)
    assert "the prompt “The city of" in (page.locator("#prompt").get_attribute("title") or "")
    page.get_by_role("button", name="Run to end").click()
    expect(page.locator("[data-position='3'] .dv-t")).to_have_text("San")
    page.locator("body").evaluate(DROP, [["good.json", sent(los().to_bytes(False))], ["broken.json", sent(b"{}")]])
    expect(page.get_by_role("alert")).to_contain_text("broken: trace file is not a DARD trace")
    expect(page.locator("[data-position='3'] .dv-t")).to_have_text("San")
    hostile = replace(los(), prompt=HOSTILE[0], token_text={k: HOSTILE[k % len(HOSTILE)] for k in los().token_text})
    page.locator("body").evaluate(
        DROP, [["<img src=x>.json", sent(hostile.to_bytes())], ["two.json", sent(los().to_bytes())]]
    )
    expect(page.locator("#title")).to_have_text("<img src=x> | two")
    expect(page.get_by_role("heading", name="2 decodes, one scrubber")).to_be_visible()
    expect(page.locator("#notice")).to_be_hidden()
    assert page.locator("#prompt img, .dv-t img").count() == 0


def test_reach_and_a_board_in_a_file(visit: Visiting, tmp_path: Path) -> None:
    """What a file does not hold, the page finds out; what is told beside it, it shows."""
    (tmp_path / "view.html").write_text(open_html(), encoding="utf-8")
    page = visit((tmp_path / "view.html").as_uri(), ready="#tools button").page
    path = next(path for path in GALLERY if "through-depth" in path.name)
    step = next(step for step in Trace.load(path).steps if contaminated(step))
    page.locator("body").evaluate(DROP, [["depth.json.gz", sent(path.read_bytes())]])
    page.wait_for_selector("body[data-ready]")
    for _ in range(step.index):
        page.get_by_role("slider", name="step", exact=True).press("ArrowRight")
    page.get_by_role("button", name="reach", exact=True).click()
    expect(page.locator(".dv-layertext")).to_have_text("6 layers")
    positions = {position for position, *_ in contaminated(step)}
    expect(page.locator(".dv-dirty")).to_have_text(f"{len(positions)} contaminated ◂")
    page.locator(f"[data-position='{min(positions)}']").first.click()
    expect(page.locator(".dv-why .dv-warn")).to_contain_text("hidden from this check, can still arrive through")
    board = next(path for path in GALLERY if "clashing" in path.name)
    page.locator("body").evaluate(DROP, [["board.json.gz", sent(board.read_bytes())]])
    expect(page.locator(".dv-board").first).to_be_visible()


def test_causes_and_a_token_hidden_by_hand_in_a_file(visit: Visiting, tmp_path: Path) -> None:
    (tmp_path / "view.html").write_text(open_html(), encoding="utf-8")
    page = visit((tmp_path / "view.html").as_uri(), ready="#tools button").page
    branch = city().at(1).hide(3)
    trace = explained(branch, slice(1, 2))
    page.locator("body").evaluate(DROP, [["hidden.json.gz", sent(trace.to_bytes())]])
    page.locator("[data-position='4']").first.click()
    for _ in range(2):
        page.get_by_role("slider", name="step", exact=True).press("ArrowRight")
    expect(page.get_by_role("status")).to_contain_text("Los at 3 was hidden from everyone in this pass, by hand")
    note = page.get_by_label("mask", exact=True).locator(".dv-masknote")
    expect(note).to_contain_text("Los at 3 was hidden from everyone in this pass, by hand.")
    page.get_by_role("tab", name="Causes").click()
    causes = page.get_by_label("causes", exact=True)
    expect(causes.get_by_label("without each visible token").get_by_role("button").first).to_be_visible()
    expect(causes).to_contain_text("No single token decides this: hiding any one leaves it at 0.452 to 0.4996.")


def test_a_trace_from_an_address(visit: Visiting, site: str, tmp_path: Path) -> None:
    page = visit(f"{site}/view.html?url=one.json.gz&url=shared/two.json.gz#step=2&position=3").page
    expect(page.locator("#title")).to_have_text("one | two")
    expect(page.get_by_role("slider", name="step", exact=True)).to_have_attribute("aria-valuenow", "2")
    expect(page.get_by_role("button", name="first difference: pass 1")).to_be_visible()
    refused = {
        "bad.json": "not a DARD trace", "gone.json": "answered 404", "javascript:alert(1)": "must be an http or https",
        "a" * 2001: "must be an http or https", "//127.0.0.1:9/x.json": "(CORS)",
    }  # fmt: skip
    for address, words in refused.items():
        seen = visit(f"{site}/view.html?{urlencode({'url': address})}", ready="#tools button")
        expect(seen.page.get_by_role("alert")).to_contain_text(words)
        seen.problems = [each for each in seen.problems if "Failed to load" not in each and "127.0.0.1:9" not in each]
    elsewhere = tmp_path / "view.html"  # another origin: what it may read, the server says
    elsewhere.write_text(open_html(), encoding="utf-8")
    for name, words in {"shared/two": None, "one": "(CORS)"}.items():
        seen = visit(f"{elsewhere.as_uri()}?{urlencode({'url': f'{site}/{name}.json.gz'})}", ready="#tools button")
        if words:
            expect(seen.page.get_by_role("alert")).to_contain_text(words)
        seen.problems = []


def test_a_trace_from_another_window(visit: Visiting, site: str) -> None:
    host = visit(f"{site}/host.html", ready=None).page
    with host.expect_popup() as popup:
        host.evaluate(
            """() => { window.heard = []; window.page = open('view.html');
            addEventListener('message', ({ data }) => heard.push(data)); }"""
        )
    page = popup.value
    host.wait_for_function("heard.some((each) => each.type === 'dard-ready')")
    send = """async ([trace, name]) => { heard.length = 0;
        page.postMessage({ type: 'dard-trace', name, trace }, location.origin);
        while (!heard.length) await new Promise((go) => setTimeout(go, 20)); return heard[0]; }"""
    assert host.evaluate(send, [los().to_bytes(False).decode(), "mine"]) == {
        "type": "dard-opened",
        "ok": True,
        "text": "",
    }
    expect(page.locator("#title")).to_have_text("mine")
    for bad in ({"format": "dard-trace"}, "{}", 7, None, "x" * 1000):
        answer = host.evaluate(send, [bad, "bad"])
        assert not answer["ok"] and answer["text"].startswith("bad: trace")
    expect(page.locator("#title")).to_have_text("mine")
    # Not from a window that neither opened nor holds it, and nothing the visitor chose is replaced without a click.
    page.evaluate("(trace) => postMessage({ type: 'dard-trace', name: 'self', trace })", los().to_bytes(False).decode())
    page.locator("body").evaluate(DROP, [["own.json", sent(los().to_bytes())]])
    expect(page.locator("#title")).to_have_text("own")
    host.evaluate(
        "(trace) => page.postMessage({ type: 'dard-trace', name: 'other', trace }, '*')", los().to_bytes(False).decode()
    )
    expect(page.get_by_role("alert")).to_contain_text(f"{site} sends a trace.")
    expect(page.locator("#title")).to_have_text("own")
    page.get_by_role("button", name="Show it in place of this one").click()
    expect(page.locator("#title")).to_have_text("other")


def recording(length: int, passes: int) -> Trace:
    """A long decode as a recorder writes it: top 5 everywhere, no masks."""
    words = {token: f"w{token}" for token in range(1000)}
    tokens, states, steps = [0] * length, ["M"] * length, []
    for k in range(passes):
        new = list(range(k * length // passes, (k + 1) * length // passes))
        tokens = [1 + (i + k) % 900 if i in new else token for i, token in enumerate(tokens)]
        states = ["U" if i in new else state for i, state in enumerate(states)]
        ids = [1 + (7 * i + k + n) % 900 for i in range(length) for n in range(5)]
        top = Top(list(range(length)), 5, ids, [6000, 2000, 1000, 500, 100] * length)
        confidence = [((i * 31 + k) % 100) / 100 for i in range(length)]
        events, why = {"decided": new}, {i: f"w{tokens[i]} was decided." for i in new}
        steps.append(
            Step(k + 1, (0, length), tokens, "".join(states), {"confidence": confidence}, {"x": top}, events, why=why)
        )
    start = Start([0] * length, "M" * length, [0.0] * length)
    about = dard.About(paths=[dard.Path("x", "x")])
    return Trace(
        "theirs", 8, "their sampler", {}, "a prompt", [5], 0, None, [False] * length, start, steps, words, "", about
    )


def test_a_long_recording_opens_and_scrubs(visit: Visiting, tmp_path: Path, figure: Callable[[str], None]) -> None:
    """Opening is measured in the processor time of the page's thread, which others on the machine do not lengthen."""
    (tmp_path / "view.html").write_text(open_html(), encoding="utf-8")
    page = visit((tmp_path / "view.html").as_uri(), ready="#tools button").page
    tools = page.context.new_cdp_session(page)
    tools.send("Performance.enable", {"timeDomain": "threadTicks"})

    def seconds() -> float:
        return {each["name"]: each["value"] for each in tools.send("Performance.getMetrics")["metrics"]}["ThreadTime"]

    before = seconds()
    page.locator("body").evaluate(DROP, [["long.json.gz", sent(recording(512, 200).to_bytes())]])
    page.wait_for_selector("body[data-ready]")
    took = seconds() - before
    figure(f"opening 512 positions, 200 steps from a file: {1000 * took:.0f} ms of processor time")
    assert took < 2
    expect(page.locator("#about")).to_have_text("their sampler on theirs, 200 steps")
    report(figure, "scrubbing them, every fourth step", page.evaluate(SCRUB.replace("step++", "step += 4")))
    expect(page.locator("[data-position='511'] .dv-t")).to_have_text("w711")


def test_declared_states_are_read_as_the_library_reads_them(reading: Page) -> None:
    found = reading.evaluate(LANES, [sent(noise().to_bytes()), payload(noise(), "Noise", lives=True)])
    assert found["differ"] == [] and found["words"] == [] and found["frames"] == 6
    for kind in (name for name in BROKEN if "state" in name or "draft" in name):
        body = body_of(los())
        BROKEN[kind](body)
        answer = reading.evaluate(READ, sent(json.dumps(body).encode()))
        assert answer.get("kind") == "Error" and "trace file" in answer["error"], kind
