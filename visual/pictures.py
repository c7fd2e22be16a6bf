"""Pictures to keep: the current view as PNG and a whole run as GIF; the vector figures are in `visual.vector`.

Pure functions of a `Trace`: the same trace gives the same bytes on the same machine. No browser, no model and no
network are needed; the fonts are those of the machine, or Pillow's own where there are none.
"""

from __future__ import annotations

import io
from collections.abc import Sequence

from PIL import Image

from dard.state import InputError
from dard.trace import Trace
from visual.drawing.canvas import Raster
from visual.drawing.layout import Strip, View
from visual.drawing.mask import check_order
from visual.drawing.moments import check_position, check_size, check_step, moments, title
from visual.drawing.score import LATER
from visual.palette import Palette, get_palette, mix, rgb
from visual.vector import mask_svg, score_svg

__all__ = ["gif", "lanes_png", "mask_svg", "png", "score_svg"]
LEAST_WIDTH, MOST_WIDTH = 480, 3000
MOST_FRAMES = 200
MOST_CHIPS = 60_000  # chips of all frames: half a minute of drawing
MOST_FRAME_PIXELS = 150_000_000  # bytes of all frames in memory
LAST_FRAME = 3  # the last frame stays so many times longer


def png(
    trace: Trace,
    step: int,
    selected: int | None = None,
    theme: str = "light",
    mask: str = "state",
    width: int = 1280,
    scale: int = 2,
) -> bytes:
    """The view after a step as a picture: tokens, score, mask and, for a selected position, the inspector.

    `width` is in page pixels, each `scale` × `scale` pixels of the picture.

    >>> from dard.models.scripted import LOS_DIEGO, los_diego
    >>> import dard
    >>> trace = dard.decode(los_diego(), LOS_DIEGO, tau_c=0.4, tau_u=0.8)
    >>> png(trace, step=2, selected=3, width=900, scale=1)[:4]
    b'\\x89PNG'
    """
    colours = get_palette(theme)
    check_order(mask)
    check_size(trace)
    check_step(trace, step)
    check_range("width", width, LEAST_WIDTH, MOST_WIDTH)
    check_range("scale", scale, 1, 4)
    if selected is not None:
        check_position(trace, selected)
    found = moments(trace)
    view = View(Raster(1, 1, colours.page, scale), trace, found, step, selected, mask, width)
    sheet = Raster(width, view.height, colours.page, scale)
    view.draw(sheet, colours)
    return sheet.png(f"{title(trace)}. {view.sentence}")


def lanes_png(traces: Sequence[Trace], step: int, theme: str = "light", width: int = 960, scale: int = 2) -> bytes:
    """Several decodes after the same number of passes, one below the other: tokens and score of each.

    A decode that needed fewer passes is shown as it ended.
    """
    colours = get_palette(theme)
    if not traces:
        raise InputError("there is no decode to draw")
    check_range("step", step, 0, max(trace.num_steps for trace in traces))
    check_range("width", width, LEAST_WIDTH, MOST_WIDTH)
    check_range("scale", scale, 1, 4)
    drawn: list[Image.Image] = []
    for trace in traces:
        check_size(trace)
        now = min(step, trace.num_steps)
        strip = Strip(Raster(1, 1, colours.page, scale), trace, moments(trace), [now], width)
        sheet = Raster(width, strip.height, colours.page, scale)
        strip.draw(sheet, now, colours)
        drawn.append(sheet.finished())
    whole = Image.new("RGB", (drawn[0].width, sum(image.height for image in drawn)), rgb(colours.page))
    top = 0
    for image in drawn:
        whole.paste(image, (0, top))
        top += image.height
    file = io.BytesIO()
    whole.save(file, "PNG", optimize=True)
    return file.getvalue()


def gif(trace: Trace, theme: str = "light", width: int = 960, frame_ms: int = 900) -> bytes:
    """The run as an animation: the tokens and the score, one frame per step, the last one longer.

    The layout is the same in every frame. A run of more than 200 steps (fewer for very long regions), or a file above
    4 MB (8 MB for more than 64 positions), is thinned: frames are left out evenly, the first and the last never.

    >>> from dard.models.scripted import LOS_DIEGO, los_diego
    >>> import dard
    >>> gif(dard.decode(los_diego(), LOS_DIEGO, tau_c=0.4, tau_u=0.8))[:6]
    b'GIF89a'
    """
    colours = get_palette(theme)
    check_size(trace)
    check_range("width", width, LEAST_WIDTH, MOST_WIDTH)
    check_range("frame_ms", frame_ms, 20, 60_000)
    found = moments(trace)
    length = len(trace.start.tokens)
    steps = thinned(list(range(trace.num_steps + 1)), min(MOST_FRAMES, max(2, MOST_CHIPS // length)))
    strip = Strip(Raster(1, 1, colours.page, 1), trace, found, steps, width)
    steps = thinned(steps, max(2, int(MOST_FRAME_PIXELS / (width * strip.height))))
    shared = gif_palette(colours)
    sheet = Raster(width, strip.height, colours.page, 1)
    frames = {}
    for previous, step in zip([None, *steps], steps, strict=False):
        if previous is None:
            strip.draw(sheet, step, colours)
        else:
            strip.redraw(sheet, previous, step, colours)
        frames[step] = sheet.finished().quantize(palette=shared, dither=Image.Dither.NONE)
    limit = (4 if length <= 64 else 8) << 20
    while True:
        data = animation([frames[step] for step in steps], frame_ms)
        if len(data) <= limit:
            return data
        if len(steps) <= 2:
            raise InputError(f"the animation would be larger than {limit >> 20} MB; choose a smaller width")
        steps = thinned(steps, max(2, len(steps) * limit // (len(data) + limit // 8)))


def check_range(name: str, value: int, low: int, high: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise InputError(
            f"{name} = {str(value)[:40]} is not allowed; {name} must be a whole number from {low} to {high}"
        )


def thinned(steps: list[int], most: int) -> list[int]:
    """At most so many of the steps, evenly, with the first and the last.

    >>> thinned([0, 1, 2, 3, 4], 3)
    [0, 2, 4]
    """
    if len(steps) <= most:
        return steps
    return [steps[round(k * (len(steps) - 1) / (most - 1))] for k in range(most)]


def animation(frames: list[Image.Image], frame_ms: int) -> bytes:
    file = io.BytesIO()
    times = [frame_ms] * (len(frames) - 1) + [frame_ms * LAST_FRAME]
    frames[0].save(file, "GIF", save_all=True, append_images=frames[1:], duration=times, loop=0, optimize=False)
    return file.getvalue()


def gif_palette(colours: Palette) -> Image.Image:
    """One palette for all frames: every colour of the theme, and the shades between letters and what they stand on."""
    kept = list(dict.fromkeys(vars(colours).values()))
    panel = colours.panel
    wanted = [mix(colours.state(letter), panel, share) for letter, share in LATER.items()]
    wanted += [mix(colours.demoted, panel, share) for share in (0.45, 0.3, 0.135)]
    wanted += [mix(colours.line2, panel, 0.7), *vars(colours.dimmed(0.5)).values()]
    grounds = (panel, colours.page, colours.sunk, colours.candidate, colours.unmasked, colours.candidate_fill,
               colours.candidate_rest, colours.unmasked_fill, colours.unmasked_rest)  # fmt: skip
    for ink, shares in ((colours.ink, (0.8, 0.6, 0.4, 0.2)), (colours.ink2, (0.66, 0.33))):
        wanted += [mix(ink, ground, share) for ground in grounds for share in shares]
    for edge in (colours.candidate, colours.unmasked, colours.demoted, colours.promoted, colours.demoted_text):
        wanted += [mix(edge, panel, share) for share in (0.75, 0.5, 0.25)]
    wanted += [mix(colours.unmasked_on, colours.unmasked, share) for share in (0.75, 0.5, 0.25)]
    for colour in wanted:  # a near twin would only take pixels away from a colour that means something
        if all(max(abs(a - b) for a, b in zip(rgb(colour), rgb(other), strict=True)) >= 6 for other in kept):
            kept.append(colour)
    flat = [part for colour in kept[:256] for part in rgb(colour)]
    image = Image.new("P", (1, 1))
    image.putpalette(flat + flat[:3] * (256 - len(flat) // 3))
    return image
