"""The page that is only a file and shows any trace, and the reader of traces behind it."""

from __future__ import annotations

import base64
import copy
import gzip
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from playwright.sync_api import Page, expect

import dard
from dard.__main__ import main
from dard.folders import assets
from dard.models.scripted import LOS_DIEGO, los_diego
from dard.trace import Start, Step, Top, Trace, TraceError
from tests.browser.conftest import Visit
from tests.browser.test_replay import HOSTILE, SCRUB, long_session, los, report
from visual.export import open_html, reader
from visual.payload import life, pack, payload
from visual.web import script

Visiting = Callable[..., Visit]
GALLERY = sorted(assets("gallery").glob("*.trace.json.gz"))
READ = """async (data) => {
    const bytes = Uint8Array.from(atob(data), (c) => c.charCodeAt(0));
    try { return { payload: await readTrace(bytes, reader) }; }
    catch (error) { return { error: error.message, kind: error.constructor.name }; }
}"""


def sent(data: bytes) -> str:
    return base64.b64encode(data).decode()


@pytest.fixture
def reading(visit: Visiting, tmp_path: Path) -> Page:
    """A page with the reader alone."""
    file = tmp_path / "reader.html"
    file.write_text(
        f"""<!doctype html><meta charset="utf-8"><title>reader</title><body>reader
        <script type="text/plain" id="data">{pack(reader())}</script>
        <script type="module">{script("trace.js")}
        {script("unpack.js").replace("const modules", "const others").replace("modules[", "others[")}
        Object.assign(window, {{ readTrace, Lane, reader: await unpack(document.getElementById('data').textContent) }});
        document.body.setAttribute('data-ready', '');</script>""",
        encoding="utf-8",
    )
    return visit(file.as_uri()).page


def near(a: Any, b: Any) -> bool:
    """Equal, but for what is rounded on its way."""
    if isinstance(a, float) or isinstance(b, float):
        return a is not None and b is not None and abs(a - b) < 1e-5 * max(1, abs(a))
    if isinstance(a, list | tuple):
        return isinstance(b, list | tuple) and len(a) == len(b) and all(near(*pair) for pair in zip(a, b, strict=True))
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(near(a[key], b[key]) for key in a)
    return a == b


LANES = """async ([data, sent]) => {
    const bytes = Uint8Array.from(atob(data), (c) => c.charCodeAt(0));
    const [mine, theirs] = await Promise.all([readTrace(bytes, reader).then(Lane.open), Lane.open(sent)]);
    const differ = [];
    mine.frames.forEach((frame, t) => {
        const other = theirs.frames[t];
        for (const name of ['index', 'block', 'events', 'say', 'notes', 'ended', 'finished', 'revokes', 'revoked',
            'ghost', 'marks', 'tokens', 'states']) {
            const [a, b] = [frame[name], other[name]];
            if (JSON.stringify(a) !== JSON.stringify(b)) differ.push([t, name, a, b]);
        }
        if (String(frame.mask) !== String(other.mask)) differ.push([t, 'mask']);
    });
    const lives = Array.from({ length: mine.length }, (_, i) => mine.head.life(i).steps);
    const { steps, life, ...head } = mine.head;
    const columns = mine.frames.slice(1).map((frame) => frame.columns);
    return { differ, lives, head, columns, frames: mine.frames.length };
}"""


@pytest.mark.parametrize("name", ["gallery", "made here"])
def test_a_file_read_in_the_browser_is_what_the_server_sends_of_it(reading: Page, name: str) -> None:
    """But for reach, what a task says, and the sentences about what did not change, which are not in a file."""
    traces = [Trace.load(path) for path in GALLERY] if name == "gallery" else [los(), long_session(37, 6).trace]
    for trace in traces:
        theirs = json.loads(json.dumps(payload(trace, lives=True)))
        mine = reading.evaluate(LANES, [sent(trace.to_bytes()), theirs])
        assert mine["differ"] == [] and mine["frames"] == trace.num_steps + 1
        for key in set(theirs) - {
            "format",
            "version",
            "words",
            "steps",
            "start",
            "lives",
            "lives_along",
            "board",
            "graphs",
        }:
            assert near(theirs[key], mine["head"][key]), key
        assert near([step["columns"] for step in theirs["steps"]], mine["columns"])
        assert theirs["words"].items() <= mine["head"]["words"].items()
        for position, slices in enumerate(mine["lives"]):
            for step, one, other in zip(trace.steps, slices, life(trace, position)["steps"], strict=True):
                assert one.get("paths") == other.get("paths") and one.get("d") == other.get("d")
                if position in step.why:
                    assert one["y"] == other["y"]
                else:
                    assert "Nothing changed here" in one["y"]
                    assert step.states[position] == step.states_before[position]


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


def test_what_the_server_refuses_the_page_refuses(reading: Page) -> None:
    whole = without_points(los().as_dict())
    spots = places(whole)

    @settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.sampled_from(spots), st.sampled_from(["replace", "delete", "double", "add"]), JUNK)
    def one(place: tuple[Any, ...], change: str, junk: Any) -> None:
        data = json.dumps(without_points(mutated(whole, place, change, junk)), ensure_ascii=True).encode()
        try:
            Trace.from_bytes(data)
            fine = True
        except TraceError:
            fine = False
        found = reading.evaluate(READ, sent(data))
        assert ("payload" in found) == fine, (place, change, junk, found.get("error"))
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
        "packed masks": json.dumps({**body, "masks": sent(gzip.compress(b"x"))}).encode(),
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
    (folder / "host.html").write_text("<!doctype html><title>host</title><body>host</body>")

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
    expect(page.get_by_text("is not in a trace file")).to_be_visible()
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


def test_a_long_recording_opens_and_scrubs(visit: Visiting, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
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
    with capsys.disabled():
        print(f"\nopening 512 positions, 200 steps from a file: {1000 * took:.0f} ms of processor time")
    assert took < 2
    expect(page.locator("#about")).to_have_text("their sampler on theirs, 200 steps")
    report(capsys, "scrubbing them, every fourth step", page.evaluate(SCRUB.replace("step++", "step += 4")))
    expect(page.locator("[data-position='511'] .dv-t")).to_have_text("w711")
