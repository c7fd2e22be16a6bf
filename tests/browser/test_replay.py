"""The viewer in a real browser: replays opened from disk, and the viewer on a host of its own."""

from __future__ import annotations

import json
import random
import re
import statistics
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

import dard
from dard.models.scripted import LOS_DIEGO, los_diego
from dard.trace import Step, Trace
from dard.trace.frames import Frame
from dard.trace.records import Start, Top
from tests.tiny import random_model
from visual.payload import graph, header, life, pack, payload, step_payload
from visual.web import script, style

Visiting = Callable[..., Any]
HOSTILE = [
    "<img src=x onerror=alert(1)>", "${alert(1)}", "{{x}}", "\u202eevil\u202c", "a\x00b", "👩\u200d👧", "x" * 900,
    "</script><script>alert(1)</script>", "'quoted'", "\n", " ",
]  # fmt: skip


@cache
def los() -> Trace:
    return dard.decode(los_diego(), LOS_DIEGO, tau_c=0.4, tau_u=0.8)


@cache
def long_session(length: int, steps: int) -> dard.Session:
    session = dard.Session(
        random_model(3, layers=2, sharpness=1.2), "w5 w6 w7", gen_length=length, tau_c=0.5, tau_u=0.8
    )
    for _ in range(steps):
        session.step()
    return session


@pytest.fixture
def live(visit: Visiting, tmp_path: Path) -> Callable[..., Page]:
    """The viewer alone, with a host written by the test; what it is asked for is collected in `asked`."""

    def open_live(data: Any, host: str, options: str = "{}", **context: Any) -> Page:
        file = tmp_path / "live.html"
        file.write_text(
            f"""<!doctype html><meta charset="utf-8"><title>host</title>
            <style>body {{ margin: 0 16px }} {style("styles/viewer.css")}</style>
            <body><div id="viewer"></div><script type="text/plain" id="data">{pack(data)}</script>
            <script type="module">{script("shell/viewer.js")}
            window.data = await modules['data/packed.js'].unpack(document.getElementById('data').textContent);
            window.asked = [];
            const note = (name) => (...values) => {{ asked.push([name, ...values]); }};
            window.viewer = createViewer(document.getElementById('viewer'), {host}, {options});
            viewer.load(data.first).then(() => document.body.setAttribute('data-ready', ''));
            </script>""",
            encoding="utf-8",
        )
        return visit(file.as_uri(), **context).page

    return open_live


def token(page: Page, position: int, lane: int = 0) -> Locator:
    return page.locator(f"[data-position='{position}']").nth(lane)


def step_of(page: Page) -> int:
    return int(page.get_by_role("slider", name="step").get_attribute("aria-valuenow") or -1)


def press(page: Page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()


# A replay from disk.


def test_los_diego_by_clicking(replay: Visiting) -> None:
    seen = replay(los())
    page = seen.page
    expect(page.get_by_role("status")).to_contain_text("2 positions are masked")
    expect(token(page, 3)).to_have_attribute("data-state", "M")
    expect(token(page, 0)).to_have_attribute("aria-label", "position 0, The, given")
    press(page, "Step")
    expect(token(page, 4)).to_have_attribute("aria-label", "position 4, Diego, candidate, confidence 0.57")
    press(page, "Step")
    expect(token(page, 3)).to_have_attribute(
        "aria-label", re.compile("position 3, masked, confidence 0.04, revoked, revoked 1 time")
    )
    expect(token(page, 3).locator(".dv-t")).to_have_text("Los")
    expect(token(page, 3).locator(".dv-t")).to_have_css("text-decoration-line", "line-through")
    expect(page.get_by_role("status")).to_contain_text("Los at 3 revoked")
    token(page, 3).click()
    expect(page.locator(".dv-why")).to_contain_text("Los at 3 was revoked")
    press(page, "Run to end")
    assert step_of(page) == los().num_steps
    assert [token(page, i).locator(".dv-t").text_content() for i in (3, 4)] == ["San", "Diego"]
    expect(token(page, 3).locator(".dv-scar")).to_have_text("×1")
    expect(page.get_by_role("button", name="Step", exact=True)).to_be_disabled()
    press(page, "Back")
    assert step_of(page) == los().num_steps - 1
    press(page, "Reset")
    assert step_of(page) == 0
    assert len(seen.requests) == 1


def test_a_word_decided_again_is_not_struck_through(replay: Visiting) -> None:
    page = replay(long_session(24, 10).trace).page
    step, position = page.evaluate(
        """() => { const { frames } = viewer.lanes[0];
        for (let k = 1; k < frames.length - 1; k++) for (let i = 0; i < 24; i++) {
            const [a, b] = [frames[k], frames[k + 1]];
            if (!a.states[i] && a.revoked[i] && b.states[i] && b.tokens[i] === a.ghost[i]) return [k, i]; } }"""
    )
    heading = page.locator(".dv-itoken")
    page.evaluate(f"viewer.setState({{ step: {step}, position: {position} }})")
    expect(heading.locator("s")).to_have_count(1)
    page.evaluate(f"viewer.setStep({step + 1})")
    expect(heading.locator("s")).to_have_count(0)


def test_panels_say_what_they_show(replay: Visiting) -> None:
    page = replay(los(), "#step=2&position=3").page
    for name, words in {
        "tokens": "1 masked · 1 candidate · 0 unmasked · 10 given", "score": "12 positions over 5 steps of DARD",
        "inspector": "Position 3, Los. Los at 3 was revoked", "mask": "The attention mask of step 2",
    }.items():  # fmt: skip
        expect(page.get_by_role("region", name=name)).to_have_attribute(
            "aria-description", re.compile(re.escape(words))
        )


def test_by_keyboard_alone(replay: Visiting) -> None:
    page = replay(los()).page
    page.keyboard.press("ArrowRight")
    assert step_of(page) == 1
    page.keyboard.press("n")
    assert step_of(page) == 2
    page.keyboard.press("End")
    page.keyboard.press("p")
    assert step_of(page) == 2
    page.keyboard.press("Home")
    assert step_of(page) == 0
    page.keyboard.press("ArrowDown")
    expect(token(page, 4)).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("ArrowUp")
    expect(token(page, 3)).to_have_attribute("aria-pressed", "true")
    token(page, 3).focus()
    page.keyboard.press("ArrowDown")
    expect(token(page, 4)).to_have_attribute("aria-pressed", "true")
    page.keyboard.press(" ")
    expect(page.get_by_role("button", name="Pause", exact=True)).to_be_visible()
    expect(page.get_by_role("slider", name="step")).to_have_attribute("aria-valuenow", str(los().num_steps))
    expect(page.get_by_role("button", name="Play", exact=True)).to_be_visible()


def test_the_score_is_a_slider(replay: Visiting) -> None:
    page = replay(los()).page
    slider = page.get_by_role("slider", name="step")
    assert [slider.get_attribute(f"aria-value{part}") for part in ("min", "max", "text")] == ["0", "5", "start"]
    box = slider.bounding_box()
    assert box
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 110, middle)
    page.mouse.down()
    for x in range(110, 300, 20):
        page.mouse.move(box["x"] + x, middle)
    page.mouse.up()
    assert step_of(page) == 5
    slider.focus()
    page.keyboard.press("ArrowLeft")
    assert step_of(page) == 4
    expect(slider).to_have_attribute("aria-valuetext", re.compile("Step 4"))


def test_the_address_points_at_a_moment(replay: Visiting) -> None:
    page = replay(los(), "#step=2&position=4&order=position&hideLater=true").page
    assert step_of(page) == 2
    expect(token(page, 4)).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_role("button", name="by position")).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_label("hide what comes later")).to_be_checked()
    press(page, "Step")
    page.wait_for_url(re.compile("step=3"))


def test_the_mask_names_its_cells(replay: Visiting) -> None:
    page = replay(los(), "#step=2&position=4").page
    note = page.locator(".dv-masknote:not(.dv-graphnote)")
    expect(note).to_have_text(
        re.compile(
            r"s4 → x3 blocked\. The shadow of Diego \(C 0\.57\) may not see Los \(C 0\.51\): Los is less confident\."
        )
    )
    mask = page.get_by_label("attention mask")
    mask.focus()
    page.keyboard.press("ArrowDown")
    expect(note).to_contain_text("s3 → x3 blocked. The shadow of Los (C 0.51) may not see Los")
    expect(note).to_contain_text("a shadow never sees its own token")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    box = mask.bounding_box()
    assert box
    page.mouse.move(box["x"] + 60, box["y"] + 40)
    expect(note).to_contain_text("x4 → x")
    press(page, "reach")
    expect(page.locator(".dv-layertext")).to_contain_text("1 layer")
    page.get_by_role("button", name="by position").click()
    assert step_of(page) == 2


def test_reach_and_zoom_on_a_long_block(replay: Visiting) -> None:
    session = long_session(96, 12)
    page = replay(session.trace, "#step=4").page
    expect(page.locator(".dv-why")).not_to_have_text("…")
    press(page, "reach")
    expect(page.locator(".dv-layertext")).to_contain_text("2 layers")
    page.get_by_label("layers of reach").fill("1")
    expect(page.locator(".dv-layertext")).to_have_text("1 layer")
    for _ in range(3):
        page.get_by_role("button", name="zoom in").click()
    page.get_by_label("attention mask").focus()
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".dv-masknote b").first).to_contain_text("→")
    for _ in range(3):
        page.get_by_role("button", name="zoom out").click()


def test_decoders_without_shadow_say_so(replay: Visiting) -> None:
    page = replay(dard.decode(los_diego(), LOS_DIEGO, decoder="standard", steps=1), "#step=1").page
    expect(page.locator(".dv-maskmessage")).to_contain_text("Standard uses no shadow block")
    expect(page.locator(".dv-wnote")).to_contain_text("records no number")
    expect(page.get_by_role("button", name="by state")).to_be_hidden()
    expect(page.get_by_role("button", name="w", exact=True)).to_be_hidden()


def test_four_decoders_on_one_scrubber(replay: Visiting) -> None:
    traces = dard.compare(
        los_diego(), LOS_DIEGO, settings={"dard": {"tau_c": 0.4, "tau_u": 0.8}, "standard": {"steps": 1}}
    )
    page = replay(traces, "#step=2&position=4").page
    assert page.locator(".dv-toks").count() == 4
    expect(page.locator(".dv-who b")).to_have_text(["DARD", "WINO", "Saber", "Standard"])
    page.keyboard.press("End")
    assert step_of(page) == max(trace.num_steps for trace in traces.values())
    page.get_by_role("button", name="first difference").click()
    assert step_of(page) == page.evaluate("viewer.panels[0].divergence") > 0
    page.keyboard.press("End")
    token(page, 3, lane=3).click()
    expect(page.get_by_role("status")).to_contain_text("Standard.")
    expect(page.locator(".dv-maskmessage")).to_contain_text("no shadow")
    assert page.locator(".dv-differs").count() > 0
    token(page, 4, lane=1).hover()
    assert page.locator(".dv-hover[data-position='4']").count() == 3


def test_dark_follows_the_page(replay: Visiting) -> None:
    page = replay(los(), color_scheme="dark").page
    colour = "getComputedStyle(document.querySelector('.dv-panel')).backgroundColor"
    assert page.evaluate(colour) == "rgb(21, 26, 31)"
    press(page, "Light")
    assert page.evaluate(colour) == "rgb(255, 255, 255)"
    press(page, "Dark")
    assert page.evaluate(colour) == "rgb(21, 26, 31)"


def test_a_phone_shows_everything_without_scrolling_sideways(replay: Visiting) -> None:
    page = replay(los(), "#step=2&position=4", viewport={"width": 390, "height": 844}).page
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    press(page, "Step")
    assert step_of(page) == 3
    tokens, inspector, score, mask = (
        page.locator(f".dv-p-{name}:visible").bounding_box()["y"] for name in ("tokens", "insp", "score", "mask")
    )
    assert tokens < inspector < score < mask


def test_fits_a_laptop_without_scrolling(live: Callable[..., Page]) -> None:
    """1280 × 800 with 110 pixels taken above, up to 32 positions."""
    for trace in (los(), long_session(32, 6).trace):
        page = live({"first": payload(trace)}, "{ requestStep() {}, requestBranch() {} }")
        page.evaluate("viewer.setStep(2)")
        assert page.evaluate("document.getElementById('viewer').getBoundingClientRect().height") <= 690


@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_moves_while_playing(replay: Visiting, width: int) -> None:
    page = replay(long_session(24, 10).trace, viewport={"width": width, "height": 800}).page
    boxes = """() => JSON.stringify(
        [...document.querySelectorAll('.dv-panel, .dv-tok, .dv-btn, canvas, .dv-why, .dv-status, .dv-note')].map(
        (node) => { const box = node.getBoundingClientRect(); return [box.x, box.y, box.width, box.height] }))"""
    first = page.evaluate(boxes)
    for step in range(1, 11):
        page.evaluate(f"viewer.setState({{ step: {step}, position: {step % 5} }})")
        page.evaluate("window.scrollTo(0, 0)")
        assert page.evaluate(boxes) == first, step


# A trace that means harm.


def hostile_trace() -> Trace:
    """Los Diego with every word replaced by something that would like to be markup, script or invisible."""
    trace = los()
    order = [*dict.fromkeys(token for token in (*trace.start.tokens, *trace.token_text) if token != trace.mask_id)]
    texts = {token: HOSTILE[n % len(HOSTILE)] for n, token in enumerate(order)}
    return replace(
        trace,
        token_text=texts,
        prompt=" ".join(HOSTILE),
        model=HOSTILE[0],
        text=HOSTILE[1],
        about=replace(trace.about, rule=HOSTILE[0], title=HOSTILE[7]),
    )


def test_hostile_text_is_shown_as_text(replay: Visiting) -> None:
    body = json.loads(hostile_trace().to_bytes(compress=False))
    for step in body["steps"]:
        step["why"] = {key: " ".join(HOSTILE) for key in step.get("why", {})}
    seen = replay(Trace.from_bytes(json.dumps(body).encode()), "#step=2&position=4&order=<img>&step=%3Cscript%3E")
    page = seen.page
    for position in range(12):
        page.evaluate(f"viewer.select({position})")
        for step in range(6):
            page.evaluate(f"viewer.setStep({step})")
    shown = page.locator(".dv-t").all_text_contents()
    assert any("<img src=x onerror=alert(1)>".replace(" ", "␣") in text for text in shown)
    assert max(map(len, shown)) <= 50
    assert page.locator("img, iframe, object").count() == 0
    assert "\u202e" not in page.locator("body").inner_text()
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280
    assert len(seen.requests) == 1


# The viewer and its host.


def test_a_live_run_asks_for_steps_and_follows_them(live: Callable[..., Page]) -> None:
    trace = los()
    empty = replace(trace, steps=[])
    steps = [step_payload(trace, step) for step in trace.steps]
    host = (
        "{ requestStep: note('step'), requestRun: note('run'), requestStop: note('stop'), requestReset: note('reset') }"
    )
    page = live({"first": header(empty), "steps": steps}, host)
    press(page, "Step")
    assert page.evaluate("asked") == [["step"]]
    expect(page.get_by_role("button", name="Step", exact=True)).to_be_disabled()
    page.evaluate("viewer.append(data.steps[0])")
    expect(token(page, 4)).to_have_attribute("data-state", "C")
    assert step_of(page) == 1
    press(page, "Back")
    page.evaluate("viewer.append([data.steps[1]])")
    assert step_of(page) == 0, "the view stays where the reader is"
    press(page, "Run to end")
    assert page.evaluate("asked.at(-1)") == ["run"]
    assert step_of(page) == 2
    page.evaluate("viewer.setBusy('Decoding …')")
    press(page, "Stop")
    assert page.evaluate("asked.at(-1)") == ["stop"]
    page.evaluate("viewer.append(data.steps.slice(2)); viewer.setBusy(null); viewer.setStep(4)")
    expect(page.get_by_role("slider", name="step")).to_have_attribute("aria-valuenow", "4")
    press(page, "Run to end")
    assert page.evaluate("asked.filter(([name]) => name === 'run').length") == 1, "a finished run is not run again"
    press(page, "Reset")
    assert page.evaluate("asked.at(-1)") == ["stop"]  # Reset only rewinds


def test_playing_goes_on_with_new_steps(live: Callable[..., Page]) -> None:
    trace = los()
    empty = replace(trace, steps=[])
    host = "{ requestStep: () => { const next = data.steps[viewer.last]; setTimeout(() => viewer.append(next), 20); } }"
    page = live({"first": header(empty), "steps": [step_payload(trace, s) for s in trace.steps]}, host, "{ speed: 15 }")
    press(page, "Play")
    expect(page.get_by_role("slider", name="step")).to_have_attribute("aria-valuenow", "5")
    expect(page.get_by_role("button", name="Play", exact=True)).to_be_visible()


def test_branching_from_the_inspector(live: Callable[..., Page]) -> None:
    page = live({"first": payload(los())}, "{ requestBranch: note('branch') }")
    page.evaluate("viewer.setState({ step: 1, position: 3 })")
    page.get_by_role("button", name="San", exact=True).click()
    press(page, "Branch here")
    san = next(number for number, text in los().token_text.items() if text == "San")
    assert page.evaluate("asked") == [["branch", {"lane": 0, "step": 1, "position": 3, "token": san, "state": "C"}]]
    page.get_by_label("other token").fill("Long")
    page.get_by_role("button", name="unmasked", exact=True).click()
    page.get_by_label("other token").press("Enter")
    assert page.evaluate("asked.at(-1)[1]") == {"lane": 0, "step": 1, "position": 3, "token": "Long", "state": "U"}
    page.keyboard.press("ArrowRight")
    assert step_of(page) == 1, "typing does not move the run"
    page.evaluate("viewer.select(0)")
    expect(page.get_by_role("button", name="Branch here")).to_be_disabled()


def test_controls_without_a_host_are_not_there(live: Callable[..., Page]) -> None:
    page = live({"first": payload(los())}, "{}")
    press(page, "Export")
    expect(page.get_by_role("menuitem", name="This view")).to_be_visible()
    expect(page.get_by_role("menuitem", name="The run")).to_have_count(0)
    page.keyboard.press("Escape")
    for name in ("Branch here", "Stop"):
        assert page.get_by_role("button", name=name, exact=True).count() == 0
    page.evaluate("viewer.setBranches([{ id: 'a', name: 'first' }, { id: 'b', name: 'second' }], 'a')")
    expect(page.locator(".dv-branches")).to_be_hidden()


def test_export_messages_and_branches(live: Callable[..., Page]) -> None:
    host = """{ switchBranch: note('switch'), compareBranches: note('compare'),
        ask: async (name, { kind }) => {
            asked.push([name, kind]); return { kind: 'error', text: 'not <i>now</i>' }; } }"""
    page = live({"first": payload(los())}, host, "{ exports: { json: 'Trace', html: 'Replay' } }")
    press(page, "Export")
    page.get_by_role("menuitem", name="Replay", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("not <i>now</i>")
    page.evaluate("viewer.setMessage('token = <b>x</b> is 2 tokens')")
    expect(page.get_by_role("alert")).to_contain_text("token = <b>x</b> is 2 tokens")
    press(page, "dismiss")
    expect(page.get_by_role("alert")).to_have_count(0)
    page.evaluate("viewer.setBranches([{ id: 'a', name: 'first' }, { id: 'b', name: '<i>second</i>' }], 'a')")
    press(page, "<i>second</i>")
    press(page, "Show")
    assert page.evaluate("asked") == [["export", "html"], ["switch", "b"], ["compare", "a", "b"]]


def test_a_long_token_life_is_fetched_once(live: Callable[..., Page]) -> None:
    session = long_session(96, 12)
    trace = session.trace
    lives = {position: life(trace, position) for position in (0, 7)}
    host = "{ ask: async (name, { position }) => { asked.push([name, position]); return data.lives[position]; } }"
    page = live({"first": payload(trace), "lives": lives}, host)
    page.evaluate("viewer.setState({ position: 7, step: 3 })")
    expect(page.locator(".dv-why")).not_to_have_text("…")
    for step in range(12):
        page.evaluate(f"viewer.setStep({step})")
    assert page.evaluate("asked") == [["life", 0], ["life", 7]]


def test_calls_right_after_a_load_find_it_done(live: Callable[..., Page]) -> None:
    other = long_session(24, 10).trace
    page = live({"first": payload(los()), "other": payload(other)}, "{}")
    state = page.evaluate(
        """async () => { const done = viewer.load(data.other); viewer.select(20); viewer.setStep(9);
        await done; await viewer.work; return viewer.getState(); }"""
    )
    assert (state["position"], state["step"]) == (20, 9)


def test_a_hidden_viewer_is_drawn_when_it_is_shown(live: Callable[..., Page]) -> None:
    page = live({"first": payload(los()), "other": payload(long_session(24, 10).trace)}, "{}")
    page.evaluate("document.getElementById('viewer').style.display = 'none'")
    page.evaluate("viewer.load(data.other, { step: 4, position: 7 })")
    page.evaluate("document.body.classList.add('dark'); document.getElementById('viewer').style.display = ''")
    expect(page.get_by_role("status")).to_contain_text("Step 4.")
    expect(token(page, 7)).to_have_attribute("aria-pressed", "true")


def test_sharp_screens(live: Callable[..., Page]) -> None:
    page = live({"first": payload(los())}, "{}", device_scale_factor=2)
    widths = page.evaluate(
        "[...document.querySelectorAll('canvas')].filter((c) => c.offsetParent)"
        ".map((c) => [c.width, c.getBoundingClientRect().width])"
    )
    assert all(abs(pixels - 2 * shown) <= 2 for pixels, shown in widths)


def test_keys_can_come_from_around_the_viewer(live: Callable[..., Page]) -> None:
    page = live({"first": payload(los())}, "{}", "{ keysFrom: document.body }")
    page.evaluate(
        """() => { const make = (tag, id) => document.body.append(Object.assign(document.createElement(tag), { id }));
        make('button', 'beside'); make('input', 'typing'); }"""
    )
    page.locator("#beside").focus()
    page.keyboard.press("ArrowRight")
    assert step_of(page) == 1
    page.locator("#typing").focus()
    page.keyboard.press("ArrowRight")
    assert step_of(page) == 1


def test_lanes_of_a_live_comparison_grow_one_by_one(live: Callable[..., Page]) -> None:
    traces = list(dard.compare(los_diego(), LOS_DIEGO).values())[:2]
    starts = [header(replace(trace, steps=[])) for trace in traces]
    steps = [[step_payload(trace, step) for step in trace.steps] for trace in traces]
    page = live({"first": starts, "steps": steps}, "{}")
    page.evaluate("viewer.append(data.steps[0][0], 0); viewer.append(data.steps[1][0], 1)")
    page.evaluate("viewer.append(data.steps[1].slice(1), 1)")
    expect(page.get_by_role("slider", name="step")).to_have_attribute("aria-valuemax", str(len(steps[1])))
    assert page.evaluate("viewer.lanes.map((lane) => lane.last)") == [1, len(steps[1])]


def test_destroy_leaves_nothing_behind(live: Callable[..., Page]) -> None:
    page = live({"first": payload(los())}, "{}")
    page.evaluate("viewer.destroy()")
    assert page.evaluate("document.getElementById('viewer').childNodes.length") == 0
    page.keyboard.press("ArrowRight")


# The first round pays for compiling the script; the one after it is counted.
SCRUB = """async () => { const times = [];
    for (let round = 0; round < 2; round++) for (let step = 0; step <= viewer.last; step++) {
    const start = performance.now(); viewer.setStep(step); if (round) times.push(performance.now() - start);
    await new Promise((then) => requestAnimationFrame(() => setTimeout(then))); } return times; }"""


def report(figure: Callable[[str], None], what: str, times: list[float]) -> None:
    """Times are printed, never asserted: the machine may be busy."""
    median, quarter = statistics.median(times), statistics.quantiles(times)[0]
    figure(f"{what}: median {median:.1f} ms of script per step, best quarter {quarter:.1f} ms")


def test_scrubbing_is_quick_and_asks_nobody(live: Callable[..., Page], figure: Callable[[str], None]) -> None:
    trace = long_session(256, 24).trace
    host = "{ ask: async (name, { position }) => { asked.push(position); return data.life; } }"
    page = live({"first": payload(trace), "life": life(trace, 0)}, host)
    expect(page.locator(".dv-why")).not_to_have_text("…")
    before = page.evaluate("performance.getEntriesByType('resource').length")
    times = page.evaluate(SCRUB)
    assert page.evaluate("asked") == [0]
    assert page.evaluate("performance.getEntriesByType('resource').length") == before
    report(figure, "scrubbing at L = 256", times)


@pytest.mark.long
def test_scrubbing_four_decoders(live: Callable[..., Page], figure: Callable[[str], None]) -> None:
    trace = long_session(128, 24).trace
    page = live({"first": [payload(trace, name) for name in "abcd"]}, "{}")
    report(figure, "scrubbing four decoders at L = 128", page.evaluate(SCRUB))


def long_recording(length: int, steps: int) -> Trace:
    """A recording with the top 5 of all masks; in every step a few positions are decided and one is taken back."""
    pick = random.Random(0)
    tokens, frames = [7, 8, 9] + [0] * length, []
    for step in range(steps + 1):
        masked = [i for i, token in enumerate(tokens) if token == 0]
        guesses = {i: [pick.randrange(1, 126_464) for _ in range(5)] for i in masked}
        for i in pick.sample(masked, min(len(masked), -(-length // steps) + 1)) if step else ():
            tokens[i] = guesses[i][0]
        held = [i for i, token in enumerate(tokens) if i > 2 and token and i not in masked]
        if held and step < steps:
            tokens[pick.choice(held)] = 0
        top = Top(
            masked, 5, [each for five in guesses.values() for each in five], [6000, 2000, 900, 500, 100] * len(masked)
        )
        frames.append(Frame(list(tokens), dict.fromkeys(masked, 0.6), {"x": top} if step else {}))
    return Trace.of_frames(frames, 0, lambda token: f"tok{token}", name="someone's sampler")


def test_a_long_recording_opens_and_is_scrubbed(replay: Visiting, figure: Callable[[str], None]) -> None:
    trace = long_recording(512, 200)
    assert trace.num_steps == 200 and sum(len(step.demoted) for step in trace.steps) > 100
    page = replay(trace).page
    opened = page.evaluate("performance.now()")  # since the page was asked for
    figure(f"a recording of 512 positions and 200 steps: open after {opened:.0f} ms")
    report(figure, "scrubbing it, every fourth step", page.evaluate(SCRUB.replace("step++", "step += 4")))
    assert page.evaluate("viewer.lanes[0].frames.length") == 201


def test_what_was_not_measured_is_said_and_not_drawn_as_zero(replay: Visiting) -> None:
    frames = [[5, 0, 0, 0], [5, 6, 0, 0], [5, 6, 7, 0], [5, 0, 7, 8]]
    confidence = [[None, 0.7, None, None], [None] * 4, [None] * 4]
    words = {5: "five", 6: "six", 7: "seven", 8: "eight"}
    page = replay(Trace.from_tokens(frames, 0, words, confidence), "#step=2").page
    expect(token(page, 0)).to_have_attribute("aria-label", "position 0, six, unmasked, confidence 0.70")
    expect(token(page, 1)).to_have_attribute("aria-label", "position 1, seven, unmasked, confidence not measured")
    expect(token(page, 1)).to_have_class(re.compile("dv-unmeasured"))
    expect(token(page, 0)).not_to_have_class(re.compile("dv-unmeasured"))
    token(page, 1).click()
    expect(page.locator(".dv-why")).to_have_text(
        "seven at 1 was decided, as unmasked: its confidence was not measured."
    )
    expect(page.locator(".dv-lifeline")).to_have_attribute("aria-label", re.compile("confidence not measured$"))
    expect(page.get_by_role("region", name="inspector")).to_contain_text("top 5not measured")
    expect(page.locator(".dv-maskmessage")).to_contain_text("No mask was recorded")
    expect(page.get_by_role("region", name="inspector")).not_to_contain_text("everything is visible")
    page.evaluate("viewer.setState({ step: 3, position: 0 })")
    expect(token(page, 0)).to_have_attribute("aria-label", "position 0, masked, revoked, revoked 1 time")


def test_a_mask_without_a_shadow_is_drawn_as_it_is(replay: Visiting) -> None:
    mask = np.tril(np.ones((5, 5), dtype=bool))
    frames = [Frame([7, 0, 0, 0, 0]), Frame([7, 8, 0, 0, 0], mask=mask), Frame([7, 8, 9, 9, 9], mask=mask)]
    page = replay(Trace.of_frames(frames, 0, {7: "a", 8: "b", 9: "c"}), "#step=2&position=1").page
    expect(page.locator(".dv-masknote:not(.dv-graphnote)")).to_have_text(
        re.compile(r"x1 → x0 visible\. The mask at 1 \(M\) sees b \(U –\)\.")
    )
    mask_of = "(f) => [...Array(4).keys()].map((i) => [...Array(4).keys()].map((j) => Lane.sees(f, 'x', i, j)))"
    seen = page.evaluate(
        f"(() => {{ const Lane = viewer.lanes[0].constructor; return ({mask_of})(viewer.lanes[0].frames[2]); }})()"
    )
    assert seen == mask[1:, 1:].tolist()
    expect(page.get_by_role("button", name="reach", exact=True)).to_be_hidden()
    expect(page.get_by_role("region", name="mask")).not_to_contain_text("s mask")


# What the rivals look at.


@cache
def dapd(length: int, steps: int) -> Trace:
    session = dard.Session(random_model(3, layers=2, sharpness=1.2), "w5 w6 w7", "dapd", gen_length=length)
    for _ in range(steps):
        session.step()
    return session.trace


def test_a_replay_tells_who_kept_whom_waiting_and_asks_nobody(replay: Visiting) -> None:
    trace = dapd(12, 3)
    step = trace.steps[1]
    assert step.graph is not None
    waiting, (by, _) = next(iter(step.graph.blocked.items()))
    visit = replay(trace, f"#step=2&position={waiting}")
    page = visit.page
    panel = page.get_by_role("region", name="dependencies")
    expect(panel).to_be_visible()
    expect(page.get_by_role("region", name="mask")).to_be_hidden()
    free = len(step.graph.positions) - len(step.graph.blocked)
    expect(panel.locator(".dv-gauge")).to_contain_text(f"{free} of {len(step.graph.positions)} free to go")
    expect(panel.locator(".dv-graphnote")).to_contain_text("Why not now?")
    expect(panel.locator(".dv-graphnote")).to_contain_text(f"at position {by}, accepted before it")
    expect(page.locator(".dv-why")).to_contain_text(f"Position {waiting} had to wait")
    expect(page.locator(".dv-morerow").first).to_contain_text(str(by))
    expect(page.locator(".dv-arc.dv-on")).to_have_count(1)
    waits = [i for i in step.graph.blocked if step.states[i] == "M"]
    expect(page.locator(".dv-arc")).to_have_count(len(waits))
    expect(token(page, waiting)).to_have_attribute("aria-label", re.compile("kept waiting"))
    assert page.evaluate("viewer.lane.at(2).cells.length") == len(step.graph.positions) ** 2
    panel.locator("canvas").click(position={"x": 30, "y": 46 + 3})  # the first row in the order
    assert page.evaluate("viewer.getState().position") == step.graph.positions[0]
    expect(panel.locator(".dv-graphnote")).to_contain_text("is free to go")
    page.get_by_role("button", name="position", exact=True).click()
    panel.locator("canvas").click(position={"x": 30, "y": 46 + 3})
    assert page.evaluate("viewer.getState().position") == min(step.graph.positions)
    panel.get_by_role("tab", name="Causes").click()
    expect(panel).to_be_hidden()
    page.get_by_role("region", name="causes").get_by_role("tab", name="Dependencies").click()
    expect(panel).to_be_visible()
    assert len(visit.requests) == 1


def test_scrubbing_a_graph_is_quick_and_fetches_it_once_per_step(
    live: Callable[..., Page], figure: Callable[[str], None]
) -> None:
    trace = dapd(128, 24)
    data = {"first": payload(trace), "life": life(trace, 0), "graphs": {i: graph(trace, i) for i in range(1, 25)}}
    host = """{ ask: async (name, { step }) => {
        if (name === 'life') return data.life;
        asked.push(step); return data.graphs[step]; } }"""
    page = live(data, host)
    times = page.evaluate(SCRUB)
    assert sorted(page.evaluate("asked")) == list(range(1, 25))
    assert all(
        page.evaluate("viewer.lane.frames.slice(1).map((f) => f.cells.length === f.graph.positions.length ** 2)")
    )
    report(figure, "scrubbing dependencies at L = 128", times)


def test_a_mask_shows_what_it_is_made_of(replay: Visiting) -> None:
    trace = dard.decode(random_model(2), "w5 w6", "remix", gen_length=10, threshold=0.95)
    at = next(step for step in trace.steps if step.happened("rejected") and step.index > 2)
    gone = at.happened("rejected")[0]
    page = replay(trace, f"#step={at.index - 1}&position={gone}").page
    made = trace.steps[at.index - 2].soft
    assert made is not None
    # Without a shadow there is nothing to choose.
    expect(page.get_by_label("direct, reach or attention")).to_be_hidden()
    words = [(trace.word(word), share) for word, share in made.at(gone) if share]
    expect(token(page, gone).locator(".dv-t")).to_contain_text(words[0][0])
    widths = token(page, gone).locator(".dv-mix i").evaluate_all("all => all.map((i) => parseFloat(i.style.width))")
    assert widths == pytest.approx([100 * share for _, share in words], abs=0.01)
    expect(token(page, gone)).to_have_attribute("aria-label", re.compile(f"made of {words[0][0]} and mask"))
    page.keyboard.press("ArrowRight")
    distance = at.column("js")[gone] or 0
    expect(token(page, gone).locator(".dv-tag")).to_have_text(f"⊘ JS {distance:.2f}".replace(" 0.", " ."))
    expect(token(page, gone).locator(".dv-mix i")).to_have_count(0)
    expect(token(page, gone).locator(".dv-t")).to_have_css("text-decoration-line", "line-through")
    expect(page.locator(".dv-scarred")).to_have_count(0)  # rejected is not revoked
    expect(page.locator(".dv-morerow").first).to_contain_text(words[0][0])
    expect(page.locator(".dv-ievents")).to_contain_text("mix rejected")


def test_a_replaced_word_stays_on_the_shoulder_for_one_step(replay: Visiting) -> None:
    trace = dard.decode(random_model(1, sharpness=1.3), "w5 w6", "edit", gen_length=8, edit_threshold=0.3)
    step = next(step for step in trace.steps if step.replaced)
    i = step.replaced[0]
    after = next(later for later in trace.steps[step.index :] if i not in later.replaced)
    page = replay(trace, f"#step={step.index}&position={i}").page
    old, new = trace.word(step.tokens_before[i]), trace.word(step.tokens[i])
    expect(token(page, i).locator(".dv-was")).to_have_text(f"{old} →")
    expect(token(page, i)).to_have_attribute("aria-label", re.compile(f"{new}, .*replaced {old}"))
    expect(page.locator(".dv-morerow")).to_have_text([re.compile(new), re.compile(old)])
    page.evaluate(f"viewer.setStep({after.index})")
    count = sum(i in one.replaced for one in trace.steps[: after.index])
    expect(token(page, i).locator(".dv-swap")).to_have_text(f"⇄{count}")
    page.evaluate("viewer.setStep(0)")
    expect(token(page, i).locator(".dv-swap")).to_be_hidden()


def test_a_notebook_shows_the_viewer(visit: Visiting, tmp_path: Path) -> None:
    file = tmp_path / "notebook.html"
    file.write_text(f"<!doctype html><meta charset='utf-8'>{los()._repr_html_()}", encoding="utf-8")
    frame = visit(file.as_uri(), ready="iframe").page.frame_locator("iframe")
    frame.get_by_role("button", name="Step", exact=True).click()
    expect(frame.locator("[data-position='4']")).to_have_attribute("data-state", "C")


def test_steps_and_start_of_a_trace_are_what_the_page_holds(replay: Visiting) -> None:
    """The unpacked frames against the trace itself: tokens, states, confidences, weights, masks."""
    session = long_session(24, 10)
    trace = session.trace
    page = replay(trace).page
    frames = page.evaluate(
        """() => viewer.lanes[0].frames.map((f) => ({
        tokens: [...f.tokens], states: [...f.states].map((s) => 'MCU'[s]).join(''), confidence: [...f.confidence],
        weights: f.columns.w || null, mask: f.mask ? [...f.mask] : null, block: f.block }))"""
    )
    moments: list[Start | Step] = [trace.start, *trace.steps]
    for frame, moment in zip(frames, moments, strict=True):
        assert frame["tokens"] == moment.tokens
        assert frame["states"] == moment.states
        assert frame["confidence"] == list(moment.confidence)
    for frame, step in zip(frames[1:], trace.steps, strict=True):
        mask = None if step.mask is None else np.packbits(step.mask, axis=1).flatten().tolist()
        assert frame["mask"] == mask
        if frame["weights"] is not None:
            assert frame["weights"] == step.weights
