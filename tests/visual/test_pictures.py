"""Pictures of traces: what is in them, how large they are, and what they refuse."""

from __future__ import annotations

import io
import random
import subprocess
import sys
from xml.etree import ElementTree

import pytest
from PIL import Image

import dard
from dard.attention import dard_mask
from dard.decoders import DECODERS
from dard.models.scripted import LOS_DIEGO, ScriptedModel, los_diego
from dard.state import InputError
from dard.trace import Start, Step, Top, Trace, pack
from visual import pictures, vector
from visual.drawing import canvas, fonts
from visual.drawing.canvas import Raster
from visual.drawing.layout import Strip
from visual.drawing.mask import MaskPlan
from visual.drawing.moments import NAMES, SYMBOLS, clean, moments, sentence, status, word
from visual.drawing.tokens import Grid
from visual.palette import DARK, LIGHT, THEMES, Palette, rgb
from visual.pictures import gif, mask_svg, png, score_svg

SVG = "{http://www.w3.org/2000/svg}"
WORDS = [
    "the", "a", "of", "said", "for", "with", "water", "train", "windows", "carriage",
    "exactly", "punching", "studied", "twelve", ".", ",", "harbour", "light",
]  # fmt: skip
HOSTILE = [
    "<img src=x onerror=alert(1)>", "]]><script>", "a\u202eb\u200f", "nul\0l", "\ud800", "x" * 10_000, "😀漢字",
    "two\nlines", "&amp;\"'`", "\t", " ", "e" + "\u0301" * 50, "\u2028", "\ufffe", "${alert(1)}", "{{x}}",
]  # fmt: skip


@pytest.fixture(scope="module")
def los() -> Trace:
    return dard.decode(los_diego(), LOS_DIEGO, tau_c=0.4, tau_u=0.8)


@pytest.fixture(scope="module")
def large() -> Trace:
    return made(256, 24)


def made(length: int, steps: int, words: list[str] = WORDS, block: int | None = None, seed: int = 0) -> Trace:
    """A trace as a decode would leave it, without a model: positions become C, then U, and some are taken back."""
    rnd = random.Random(seed)
    texts = ["[MASK]", "[EOS]", *words]
    tokens, states, confidence = [0] * length, ["M"] * length, [0.0] * length
    start = Start(tokens=list(tokens), states="".join(states), confidence=list(confidence))
    records = []
    for index in range(1, steps + 1):
        before = (list(tokens), "".join(states), list(confidence))
        moves: dict[str, list[int]] = {name: [] for name in ("decided", "promoted", "demoted", "weakened", "replaced")}
        for i in range(length):
            due = (i + 1) / length * steps * 0.8 < index + rnd.random() * 6 - 3
            confidence[i] = round(rnd.uniform(0.05, 0.35), 4)
            if states[i] == "M" and (due or index == steps):
                moves["decided"].append(i)
                tokens[i], states[i] = rnd.randrange(2, len(texts)), "C"
                if i > length * 0.9:
                    tokens[i] = 1
            elif states[i] == "C":
                roll = rnd.random()
                if roll < 0.12 and index < steps:
                    moves["demoted"].append(i)
                    tokens[i], states[i] = 0, "M"
                elif roll < 0.5:
                    moves["promoted"].append(i)
                    states[i] = "U"
                elif roll < 0.53:
                    moves["replaced"].append(i)
                    tokens[i] = 2 + (tokens[i] - 1) % len(words)
            elif states[i] == "U" and rnd.random() < 0.01:
                moves["weakened"].append(i)
                states[i] = "C"
            if states[i] != "M":
                confidence[i] = round(rnd.uniform(*((0.4, 0.8) if states[i] == "C" else (0.8, 1.0))), 4)
        masked = {i for i in range(length) if before[1][i] == "M"}
        ids = [rnd.randrange(2, len(texts)) for _ in range(5 * length)]
        top = Top(positions=list(range(length)), k=5, ids=ids, p=[6000, 2000, 900, 40, 0] * length)
        w = [0.5 + 0.5 * i / length if i in masked else None for i in range(length)]
        inside = (0, length) if block is None else (block * (index % 2), block * (index % 2 + 1))
        step = Step(
            index=index, block=inside, tokens=list(tokens), states="".join(states), confidence=list(confidence),
            weights=w, score_p=w, score_d=w, top={"x": top, "s": top, "mix": top}, **moves,
        )  # fmt: skip
        a, b = inside
        step._mask = pack(dard_mask(before[1][a:b], before[2][a:b]).numpy())
        records.append(step)
    settings = {
        "tau_c": 0.4, "tau_u": 0.8, "lambda_": 0.917, "p0": 0.1, "ordering": "confidence", "mixing": "adaptive",
        "verify": "held", "temperature": 0.0, "seed": 0, "gen_length": length, "block_length": block,
    }  # fmt: skip
    trace = Trace.model_construct(
        model="made", num_layers=2, decoder="dard", settings=settings, prompt="Once upon a time", prompt_tokens=[2],
        mask_id=0, eos_id=1, fixed=[False] * length, start=start, steps=records,
        token_text=dict(enumerate(texts)), text="",
    )  # fmt: skip
    trace.link()
    return trace


def opened(data: bytes) -> Image.Image:
    return Image.open(io.BytesIO(data))


def near(pixel: tuple[int, ...], colour: str, by: int = 6) -> bool:
    return all(abs(a - b) <= by for a, b in zip(pixel, rgb(colour), strict=False))


def texts_of(svg: str) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(svg).iter(f"{SVG}text")]


# The view.


def test_png_has_the_asked_width_and_is_the_same_every_time(los: Trace) -> None:
    data = png(los, 3, selected=3, width=1000, scale=2)
    assert opened(data).size[0] == 2000
    assert data == png(los, 3, selected=3, width=1000, scale=2)
    small = opened(png(los, 3, width=600, scale=1))
    assert small.size[0] == 600
    assert small.info["Description"].startswith("DARD on los-diego (τ_c 0.4, τ_u 0.8")
    assert small.info["Description"].endswith("Step 3. 'San' decided.")


@pytest.mark.parametrize("theme", THEMES)
def test_a_chip_has_its_states_colours_where_it_stands(los: Trace, theme: str) -> None:
    colours = THEMES[theme]
    found = moments(los)
    sheet = Raster(900, 60, colours.panel, 2)
    grid = Grid(sheet, los, found, 880)
    grid.draw(sheet, 10, 8, found[4], None, colours)  # San is a candidate (.46), Diego unmasked (.94)
    image = sheet.finished()
    for position, letter, confidence in ((3, "C", 0.46), (4, "U", 0.94)):
        left, top, wide, tall = (2 * value for value in grid.boxes[position])
        row = int(16 + top + tall - 6)  # below the letters
        assert near(image.getpixel((int(20 + left + wide * 0.1), row)), colours.fill(letter))
        assert near(image.getpixel((int(20 + left + wide * (confidence + 0.03)), row)), colours.rest(letter))
        assert near(image.getpixel((int(20 + left + wide / 2), int(16 + top))), colours.state(letter), 60)
    given = grid.boxes[0]
    assert near(image.getpixel((int(20 + 2 * given[0] + 2), int(16 + 2 * given[1] + 4))), colours.panel)


def test_revoked_positions_keep_a_scar_and_the_lost_word(los: Trace) -> None:
    found = moments(los)
    assert [moment.revoked.get(3, 0) for moment in found] == [0, 0, 1, 1, 1, 1]
    assert word(los, found[2].ghosts[3]) == "Los"
    sheet = Raster(900, 60, LIGHT.panel, 2)
    grid = Grid(sheet, los, found, 880)
    grid.draw(sheet, 10, 8, found[5], None, LIGHT)
    left, top, wide, _ = grid.boxes[3]
    badge = (int(2 * (10 + left + wide - 1)), int(2 * (8 + top) - 6))
    assert near(sheet.finished().getpixel(badge), LIGHT.demoted_text, 30)


def test_the_tail_after_the_end_of_the_text_is_dimmed() -> None:
    trace = made(40, 12)
    last = moments(trace)[-1]
    assert last.end == last.tokens.index(1) < 39
    sheet = Raster(1200, 200, LIGHT.panel, 1)
    grid = Grid(sheet, trace, moments(trace), 1180)
    grid.draw(sheet, 0, 8, last, None, LIGHT)
    left, top, _, tall = grid.boxes[39]
    pixel = sheet.finished().getpixel((int(left + 30), int(8 + top + tall - 3)))
    assert near(pixel, LIGHT.dimmed(0.5).fill(last.states[39]))


@pytest.mark.parametrize("decoder", ["standard", "saber", "wino"])
def test_other_decoders_and_no_shadow(decoder: str) -> None:
    trace = dard.decode(los_diego(), LOS_DIEGO, decoder=decoder)
    assert opened(png(trace, 1, selected=4, scale=1)).size[0] == 1280
    assert opened(gif(trace)).n_frames == trace.num_steps + 1
    words = " ".join(texts_of(mask_svg(trace, 1)))
    assert ("without a shadow block" in words) == (decoder != "wino")
    assert not any(text in "123456" for text in texts_of(mask_svg(trace, 1)) if len(text) == 1)
    assert "No step has run yet" in mask_svg(trace, 0)


def test_every_step_order_and_theme_can_be_drawn() -> None:
    trace = made(24, 6, block=12)
    for step in range(7):
        assert png(trace, step, 5 + step, "dark" if step % 2 else "light", "position" if step % 3 else "state", 900, 1)


@pytest.mark.parametrize("length", [1, 20, 21, 64, 65, 256])
def test_any_length(length: int, large: Trace) -> None:
    trace = large if length == 256 else made(length, 4)
    image = opened(png(trace, 2, selected=length - 1, scale=1))
    assert image.size[0] == 1280 and image.size[1] < 1600
    assert score_svg(trace) and mask_svg(trace, 2)


def test_without_a_step() -> None:
    trace = made(5, 1).model_copy(update={"steps": []})
    assert png(trace, 0, 2, scale=1) and score_svg(trace)
    assert opened(gif(trace)).n_frames == 1


# The animation.


def test_gif_has_a_frame_per_step_and_the_last_stays_longer(los: Trace) -> None:
    image = opened(gif(los, frame_ms=500))
    assert image.n_frames == los.num_steps + 1
    times = []
    for frame in range(image.n_frames):
        image.seek(frame)
        times.append(image.info["duration"])
    assert times == [500] * los.num_steps + [1500]
    assert gif(los) == gif(los)


@pytest.mark.parametrize("theme", THEMES)
def test_gif_keeps_the_state_colours(los: Trace, theme: str) -> None:
    image = opened(gif(los, theme))
    image.seek(4)
    present = {pixel for _, pixel in image.convert("RGB").getcolors(100_000) or []}
    colours = THEMES[theme]
    for colour in (colours.panel, colours.page, colours.candidate, colours.unmasked, colours.candidate_fill):
        assert rgb(colour) in present


def test_a_redrawn_frame_equals_one_drawn_afresh() -> None:
    for length in (16, 40, 90):
        trace = made(length, 8, block=length // 2)
        found = moments(trace)
        strip = Strip(Raster(1, 1, LIGHT.page, 1), trace, found, list(range(9)), 900)
        sheet = Raster(900, strip.height, LIGHT.page, 1)
        strip.draw(sheet, 0, LIGHT)
        for step in range(1, 9):
            strip.redraw(sheet, step - 1, step, LIGHT)
        fresh = Raster(900, strip.height, LIGHT.page, 1)
        strip.draw(fresh, 8, LIGHT)
        assert sheet.finished().tobytes() == fresh.finished().tobytes()


def test_chips_have_room_for_the_longest_token_a_position_ever_holds() -> None:
    trace = made(30, 10)
    found = moments(trace)
    sheet = Raster(1, 1, LIGHT.page, 1)
    grid = Grid(sheet, trace, found, 900)
    for i, (_, _, wide, _) in enumerate(grid.boxes):
        longest = max((word(trace, m.tokens[i]) for m in found if m.states[i] != "M"), key=len, default="")
        assert wide >= sheet.measure(longest[:17], grid.style.size, mono=True)


def test_gif_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures, "MOST_FRAMES", 5)
    trace = made(6, 20)
    image = opened(gif(trace))
    assert image.n_frames == 5
    assert len(gif(made(64, 8))) < 1 << 20
    assert pictures.thinned(list(range(100)), 7)[0::6] == [0, 99]


# The vector figures.


def test_svg_is_xml_with_a_view_box_and_text(los: Trace) -> None:
    for svg in (score_svg(los), score_svg(los, "dark"), mask_svg(los, 2), mask_svg(los, 2, "position", "dark")):
        root = ElementTree.fromstring(svg)
        assert root.tag == f"{SVG}svg" and len(root.get("viewBox", "").split()) == 4
        assert "http" not in svg.replace("http://www.w3.org/2000/svg", "")
        assert root.find(f"{SVG}title") is not None
    assert {"The", "Diego", "San", "Los"} <= set(texts_of(score_svg(los)))
    assert {"2", "3", "5", "6", "x keys", "s queries"} <= set(texts_of(mask_svg(los, 2)))


def test_svg_of_256_positions_stays_small(large: Trace) -> None:
    assert len(score_svg(large)) < 300_000
    for order in ("state", "position"):
        assert len(mask_svg(large, 12, order)) < 300_000


@pytest.mark.parametrize("order", ["state", "position"])
def test_the_vector_mask_shows_exactly_the_mask(order: str) -> None:
    """The merged shapes, painted back into cells, give the mask of the trace."""
    trace = made(16, 8)
    plan = MaskPlan(trace, trace.steps[4], order)
    n = 32
    sheet = vector.Vector("#FFFFFF", "t")
    columns = [f"#0000{j:02X}" for j in range(n)]
    sheet.cells(0, 0, 1, plan.seen, columns, "#FF0000")
    ids = {element.get("id"): element for element in (ElementTree.fromstring(d) for d in sheet.definitions)}
    painted = [[""] * n for _ in range(n)]

    def fill(path: ElementTree.Element, down: int) -> None:
        for piece in path.get("d", "").strip("z").split("z"):
            x, y = (int(value) for value in piece[1:].split("h")[0].split())
            wide, tall = int(piece.split("h")[1].split("v")[0]), int(piece.split("v")[1].split("h")[0])
            for r in range(y, y + tall):
                for c in range(x, x + wide):
                    painted[r + down][c] = path.get("fill", "")

    for element in ElementTree.fromstring("".join(sheet.parts)):
        if element.tag == "use":
            fill(ids[element.get("href", "")[1:]], int(element.get("y", "0")))
        else:
            fill(element, 0)
    for r in range(n):
        for c in range(n):
            assert painted[r][c] == (columns[c] if plan.seen[r, c] else "#FF0000")


def test_by_state_the_candidates_form_a_triangle() -> None:
    trace = made(40, 10)
    step = trace.steps[5]
    plan = MaskPlan(trace, step, "state")
    letters = [step.states_before[i] for i in plan.index]
    assert letters == sorted(letters, key="MCU".index)
    a, b = next((a, b) for letter, a, b in plan.groups if letter == "C")
    for row in range(a, b):
        assert plan.seen[row, a:b].tolist() == [column <= row for column in range(a, b)]


# Hostile and bad input.


def hostile() -> Trace:
    trace = made(len(HOSTILE), 6, HOSTILE)
    step = trace.steps[-1]
    step.tokens[:] = range(2, len(HOSTILE) + 2)
    step.__dict__["states"] = "U" * len(HOSTILE)
    settings = {**trace.settings, "<b>\0": "\u202e</svg>", "x": 10**30}
    return trace.model_copy(
        update={"model": "<m>\0\u202e", "prompt": "<p>\0" + "y" * 10_000, "decoder": "dard", "settings": settings}
    )


def test_hostile_tokens_are_shown_as_text() -> None:
    trace = hostile()
    for step in (0, 3, 6):
        assert png(trace, step, selected=step, scale=1)
    assert gif(trace)
    svg = score_svg(trace)
    svg.encode()
    assert "<img" not in svg and "<script" not in svg
    shown = texts_of(svg)
    assert "<img src=x onerror=alert(1)>" in shown and "]]><script>" in shown and "${alert(1)}" in shown
    assert "a\\u202eb\\u200f" in shown and "nul\\x00l" in shown and "two↵lines" in shown
    assert ElementTree.fromstring(mask_svg(trace, 6)) is not None
    assert all(character.isprintable() for text in shown for character in text)
    assert len(clean("\u0301" * 100)) == 2


@pytest.mark.parametrize("path", [png, gif])
def test_only_the_embedded_font(path: object, los: Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bare machine: no font file is found, and everything can still be written."""
    monkeypatch.setattr(fonts, "load_font", lambda name, size: None)
    caches = (fonts.chain, fonts.font_at, fonts.has, fonts.home, fonts.runs, fonts.stretch, fonts.stamp)
    for cache in caches:
        cache.cache_clear()
    try:
        assert fonts.chain(False, False) == ("",)
        assert fonts.home("τ", False, False) == ("", "tau") and fonts.home("é", False, True) == ("", "e")
        assert png(los, 3, 3, scale=1) if path is png else gif(hostile())
    finally:
        for cache in caches:
            cache.cache_clear()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda t: png(t, 6), "step = 6 is not allowed; step must be a whole number from 0 to 5"),
        (lambda t: png(t, -1), "step = -1"),
        (lambda t: png(t, True), "step = True"),
        (lambda t: png(t, 2.0), "step = 2.0"),
        (lambda t: mask_svg(t, 99), "step = 99"),
        (lambda t: png(t, 1, 12), "selected = 12 is not allowed; selected must be a whole number from 0 to 11"),
        (lambda t: png(t, 1, "3"), "selected = 3"),
        (lambda t: png(t, 1, theme="blue"), "theme = 'blue' is not allowed; theme must be 'light' or 'dark'"),
        (lambda t: score_svg(t, "x" * 999), "theme = "),
        (lambda t: gif(t, theme=None), "theme = 'None'"),
        (lambda t: mask_svg(t, 1, "size"), "order = 'size' is not allowed; order must be 'state' or 'position'"),
        (lambda t: png(t, 1, mask=["state"]), "order = "),
        (lambda t: png(t, 1, width=10), "width = 10 is not allowed"),
        (lambda t: png(t, 1, scale=40), "scale = 40 is not allowed"),
        (lambda t: gif(t, frame_ms=0), "frame_ms = 0 is not allowed"),
        (lambda t: png(t, 1, 3, width=3000, scale=4), "million pixels"),
    ],
)
def test_bad_input_gets_one_sentence(call, words: str, los: Trace) -> None:
    with pytest.raises(InputError) as caught:
        call(los)
    assert words in str(caught.value) and len(str(caught.value)) < 250 and "\n" not in str(caught.value)


def test_what_is_too_large_is_refused_at_once(los: Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    huge = los.model_copy(update={"start": los.start.model_copy(update={"tokens": [0] * 8192})})
    for call in (lambda: png(huge, 0), lambda: gif(huge), lambda: score_svg(huge), lambda: mask_svg(huge, 1)):
        with pytest.raises(InputError, match="too large"):
            call()
    monkeypatch.setattr(vector, "MOST_BYTES", 1000)
    with pytest.raises(InputError, match="figure would be"):
        score_svg(los)
    monkeypatch.setattr(canvas, "MOST_PIXELS", 1000)
    with pytest.raises(InputError, match="pixels"):
        png(los, 1)


def test_a_trace_without_its_settings_still_draws() -> None:
    own = dard.decode(los_diego(), LOS_DIEGO, tau_c=0.4, tau_u=0.8)  # its sentences are taken away below
    bare = own.model_copy(update={"settings": {}})
    bare.steps[1].why.clear()
    assert "lacks settings" in sentence(bare, bare.steps[1], 4)
    assert png(bare, 2, 4, scale=1) and score_svg(bare) and mask_svg(bare, 2) and gif(bare)
    assert status(bare, None).startswith("Start. 2 masked, 10 given")


def test_scripted_words_of_other_scripts() -> None:
    model = ScriptedModel(["漢字", "שלום", "مرحبا", "ок"], lambda position, seen: {"漢字": 0.9})
    trace = dard.decode(model, "ок שלום [MASK] مرحبا")
    assert png(trace, 1, 2, scale=1)
    assert "漢字" in texts_of(score_svg(trace))


def test_states_differ_in_grey() -> None:
    def grey(colour: str) -> float:
        r, g, b = rgb(colour)
        return 0.299 * r + 0.587 * g + 0.114 * b

    for colours, sign in ((LIGHT, -1), (DARK, 1)):
        assert isinstance(colours, Palette)
        order = [grey(colour) * sign for colour in (colours.panel, colours.candidate, colours.unmasked)]
        assert order[0] + 40 < order[1] < order[2] - 40


def test_names_and_symbols_are_those_of_the_decoders() -> None:
    for name, decoder in DECODERS.items():
        assert NAMES[name] == decoder.title
        for setting, allowed in decoder.Settings.allowed().items():
            if allowed.symbol and (name, setting) != ("wino", "threshold"):
                assert SYMBOLS.get(setting, allowed.symbol) == allowed.symbol


def test_pictures_need_no_torch() -> None:
    code = "import sys, visual.pictures; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], timeout=60, check=False).returncode == 0


def test_a_comparison_is_one_picture_with_a_strip_per_decode() -> None:
    one = dard.decode(los_diego(), LOS_DIEGO, tau_c=0.4, tau_u=0.8)
    other = dard.decode(los_diego(), LOS_DIEGO, decoder="standard", steps=1)
    both = Image.open(io.BytesIO(pictures.lanes_png([one, other], 4, scale=1)))
    alone = [Image.open(io.BytesIO(pictures.lanes_png([trace], 0, scale=1))) for trace in (one, other)]
    assert both.width == alone[0].width == 960
    assert both.height > max(picture.height for picture in alone)
    with pytest.raises(InputError, match="step"):
        pictures.lanes_png([one, other], 99)
    with pytest.raises(InputError, match="no decode"):
        pictures.lanes_png([], 0)
