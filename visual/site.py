"""A static site: the gallery, Learn, the recorded results and the page that opens any trace, as files.

`python -m visual.site FOLDER` writes it, `make site` into `site/`; any web server, GitHub Pages or a static Space can
serve it to any number of visitors. Everything in it is decoded with the embedded model when it is written; the pages
load nothing from elsewhere, and where they would ask a server they read a file of the folder.
"""

from __future__ import annotations

import html
import shutil
import sys
from pathlib import Path
from typing import Any

from dard.analysis.causes import examine
from dard.analysis.diagnosis import diagnose
from dard.decoding.session import Session
from dard.models import load_model
from dard.trace import Trace
from visual.export import digest, document, open_html, page_html, replay_html
from visual.payload import pack, payload
from visual.server.cases import GALLERY, gallery, lessons, recording
from visual.server.lab import Lab
from visual.server.runs import lane_names
from visual.server.studio import Studio
from visual.web import style

PAGES = {"index": "Gallery", "learn": "Learn", "results": "Results", "view": "Open a trace"}
MODEL = "embedded"


def main(folder: str) -> None:
    """Write the site into a folder."""
    out = Path(folder)
    for name in ("gallery", "learn", "results"):
        (out / name).mkdir(parents=True, exist_ok=True)
    studio = Studio((MODEL,))
    documented = (out / "docs" / "index.html").is_file()  # `make site` has built it before
    (out / "index.html").write_text(index_html(write_gallery(out, studio), documented), encoding="utf-8")
    (out / "view.html").write_text(open_html(), encoding="utf-8")
    write_learn(out, studio)
    write_results(out)
    print(out.resolve())


def write_gallery(out: Path, studio: Studio) -> list[tuple[dict[str, Any], str]]:
    """Every case as a page that replays it, one with all its lanes, and its trace; the cases with the names."""
    written = []
    for case, path in zip(gallery(), sorted(GALLERY.glob("*.json")), strict=True):
        trace = Trace.load(recording(path))
        state = {"step": case.get("step", 0), "position": case.get("select", -1)}
        stem = out / "gallery" / path.stem
        stem.with_suffix(".html").write_text(replay_html(trace, case["name"], state), encoding="utf-8")
        if case["model"] == MODEL:  # what others recorded on theirs cannot be decoded here
            lanes = {name: each.trace for name, each in decoded(studio, case["prompt"], case["lanes"]).items()}
            Path(f"{stem}-compared.html").write_text(replay_html(lanes, case["name"]), encoding="utf-8")
        shutil.copy(recording(path), out / "gallery")
        written.append((case, path.stem))
    return written


def decoded(studio: Studio, prompt: str, lanes: list[dict[str, Any]]) -> dict[str, Session]:
    """Decodes side by side, by the names they have on the page."""
    sessions = [Session(studio.models.load(MODEL), prompt, lane["decoder"], **lane["settings"]) for lane in lanes]
    for session in sessions:
        session.run()
    return dict(zip(lane_names(sessions), sessions, strict=True))


def write_learn(out: Path, studio: Studio) -> None:
    """The tour, and for each of its pages what the server would answer."""
    for number, lesson in enumerate(lessons()):
        show = lesson["show"]
        sessions = decoded(studio, show["prompt"], show.get("lanes") or [show])
        traces = {name: told(session, lesson["ask"]["then"]) for name, session in sessions.items()}
        payloads = [payload(trace, name if "lanes" in show else None, lives=True) for name, trace in traces.items()]
        reply = {"kind": "lanes", "run": "recorded", "payloads": payloads}
        (out / "learn" / f"{number}.txt").write_text(pack(reply), encoding="ascii")
    (out / "learn.html").write_text(tab_html("learn", {"lessons": lessons()}), encoding="utf-8")


def told(session: Session, reveal: dict[str, Any]) -> Trace:
    """A trace with what the panel of a page's answer would ask the server for."""
    trace = session.trace
    if reveal.get("side") == "diagnosis":
        trace.diagnosis = diagnose(session)
    if reveal.get("side") == "causes":
        *_, verdict = examine(session, reveal["step"], reveal["position"])
        trace.causes = [verdict]
    trace.learn(session.model.token_text)
    return trace


def write_results(out: Path) -> None:
    """The recorded results: chart and tables, the decodes behind each point, and the files."""
    lab = Lab(lambda name: load_model(name))
    offer = lab.offer()
    for stem in offer["recorded"]:
        view = lab.recorded({"stem": stem})
        variants = {variant for table in view["tables"] for variant in table["variants"] if variant}
        answers = {
            "recorded": {**view, "lab": stem},
            "runs": {variant: lab.runs({"lab": view["lab"], "variant": variant}) for variant in sorted(variants)},
            "files": {kind: lab.file({"lab": view["lab"], "kind": kind}).message() for kind in ("rows", "tables")},
        }
        (out / "results" / f"{stem}.txt").write_text(pack(answers), encoding="ascii")
    script = lab.plotly()
    (out / "plotly.txt").write_text(pack(script), encoding="ascii")
    shown = [each for each in offer["experiments"] if any(s.startswith(each["name"] + "-") for s in offer["recorded"])]
    config = {**offer, "models": [MODEL], "experiments": shown}
    page = tab_html("results", config, scripts=(script["text"],))
    (out / "results.html").write_text(page, encoding="utf-8")


def tab_html(name: str, config: dict[str, Any], scripts: tuple[str, ...] = ()) -> str:
    """A tab of the page as a page of its own."""
    body = f"""{top(name)}<div id="root" data-mount="{name}"></div>"""
    sheets = ("styles/viewer.css", "styles/page.css", "styles/replay.css")
    title, allowed = f"DARD Studio: {PAGES[name]}", "connect-src 'self'; "
    return page_html(title, body, config, "shell/site.js", sheets, allowed, scripts)


def top(here: str) -> str:
    links = " ".join(
        f"<b>{title}</b>" if name == here else f'<a href="{name}.html">{title}</a>' for name, title in PAGES.items()
    )
    return f"""<div class="top"><h1>DARD Studio</h1><nav>{links}</nav></div>"""


def index_html(cases: list[tuple[dict[str, Any], str]], documented: bool) -> str:
    """The gallery as a list, and what is where."""
    documentation = '<a href="docs/index.html">documentation</a>' if documented else "documentation"

    def beside(case: dict[str, Any], stem: str) -> str:
        if case["model"] == MODEL:
            return f"""<a href="gallery/{stem}-compared.html">side by side</a>"""
        return html.escape(f"recorded on {case['model']} by {case['by']}, {case['licence']};")

    cards = "\n".join(
        f"""<li><h2><a href="gallery/{stem}.html">{html.escape(case["name"])}</a></h2>
<p class="prompt">{html.escape(case["prompt"])}</p><p>{html.escape(case["look"])}</p>
<p><a href="gallery/{stem}.html">step by step</a> {beside(case, stem)}
<a href="view.html?url=gallery/{stem}.trace.json.gz">open the trace</a></p></li>"""
        for case, stem in cases
    )
    body = f"""{top("index")}
<p>A diffusion language model decodes, one step at a time. A case that names no other model was recorded with the
project's embedded one; in its files are the prompt, the settings and every step. Nothing is computed here: to decode a
prompt of your own, run DARD Studio itself; its {documentation} says how.</p>
<ul class="cases">
{cards}
</ul>"""
    looks = style("styles/replay.css")
    return document("DARD Studio", body, looks, f"style-src {digest(looks)}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "site")
