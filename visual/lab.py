"""The Lab: experiments of `dard.experiments`, small, for a page. No Gradio in here.

Promises: what arrives is checked; an experiment tells how far it is, with its chart and tables, as it goes, yields the
model to visitors, and stops when it is told to; the results of the last few runs and the recorded ones are kept, to
ask for the decodes behind a point or for a file.
Does not know: the browser, or how a decode is shown.
"""

from __future__ import annotations

import json
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from importlib import resources
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from dard.experiments import EXPERIMENTS, Results, get_experiment, load, make_plan, markdown, run
from dard.experiments.results import Run
from dard.experiments.variants import ONE_BY_ONE
from dard.folders import assets
from dard.session import Session
from dard.state import InputError
from dard.tasks import TASKS
from visual.passes import passes
from visual.payload import sentence, shown

if TYPE_CHECKING:
    from dard.models import Model

RESULTS = assets("results")
SAMPLES_AT_MOST = 100
RESULTS_KEPT = 20
RUNS_SHOWN = 100
NO_ROWS = "the decodes behind these recorded results did not come with this page; run the experiment to see some"
NEWS_EVERY = 0.4  # seconds between two charts


class Stopped(Exception):
    """Nobody waits for the rest of an experiment."""


@dataclass(frozen=True)
class Printed:
    """Recorded results whose rows are not here, as on a Space: the chart and the tables that were made of them."""

    stem: str
    figure: dict[str, Any]
    markdown: str

    @staticmethod
    def read(stem: str) -> Printed:
        figure, tables = ((RESULTS / f"{stem}.{end}").read_text(encoding="utf-8") for end in ("figure.json", "md"))
        return Printed(stem, json.loads(figure), tables)

    def view(self) -> dict[str, Any]:
        """What `Lab.view` tells; every part of the Markdown file is a paragraph."""
        parts = self.markdown.strip().split("\n\n")
        tables = []
        for part, caption in pairwise(parts):
            if part.startswith("| "):
                lines = [line.removeprefix("| ").removesuffix(" |") for line in part.splitlines()]
                columns, _, *rows = [[cell.replace("\\|", "|") for cell in line.split(" | ")] for line in lines]
                tables.append({"caption": sentence(caption), "columns": columns, "rows": rows, "variants": []})
        return {
            "done": 1,
            "total": 1,
            "figure": self.figure,
            "tables": tables,
            "files": ["tables"],
            "about": sentence(parts[2]),
            "command": next((part.strip("`\n") for part in parts if part.startswith("```")), None),
        }


class Lab:
    """The experiments of all visitors."""

    def __init__(self, model: Callable[[str], Model]) -> None:
        self._model = model
        self._kept: OrderedDict[str, Results | Printed] = OrderedDict()
        self._stops: dict[str, threading.Event] = {}
        self._lock = threading.Lock()

    def offer(self) -> dict[str, Any]:
        """What the tab is built from."""
        return {
            "experiments": [
                {"name": e.name, "title": e.title, "paper": e.paper, "shows": e.shows, "task": e.default_task}
                for e in EXPERIMENTS.values()
            ],
            "tasks": [{"name": name, "title": task.title} for name, task in TASKS.items()],
            "recorded": sorted(path.name.removesuffix(".figure.json") for path in RESULTS.glob("*.figure.json")),
            "samples": SAMPLES_AT_MOST,
        }

    def experiment(self, data: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Run an experiment, telling how far it is."""
        samples, seed = data.get("samples"), data.get("seed", 0)
        if isinstance(samples, int) and not isinstance(samples, bool) and samples > SAMPLES_AT_MOST:
            raise InputError(f"samples = {samples} is too many for this page; it runs at most {SAMPLES_AT_MOST}")
        task = word(data, "task")
        if task not in TASKS:
            raise InputError(f"unknown task {shown(task)!r}; this page has {', '.join(TASKS)}")
        name = word(data, "model")
        plan = make_plan(word(data, "experiment"), self._model(name), task, samples, seed)
        key, stop = self._keep(plan.results), threading.Event()
        self._stops[key] = stop

        def finish(sessions: Sequence[Session]) -> None:
            """In what visitors leave of the passes; Stop need not wait for the rest of the batch."""
            for _ in passes(name, sessions, background=True):
                if stop.is_set():
                    raise Stopped

        plan.job = replace(plan.job, finish=finish)
        try:
            told = 0.0
            for progress in run(plan, stop=stop):
                if time.monotonic() - told >= NEWS_EVERY and progress.done:
                    yield self.view(key)
                    told = time.monotonic()
                else:
                    yield {"kind": "progress", "lab": key, "done": progress.done, "total": progress.total}
        except Stopped:
            pass
        finally:
            self._stops.pop(key, None)
        yield self.view(key)

    def stop(self, data: dict[str, Any]) -> dict[str, Any]:
        """Stop an experiment; the batch it is in is dropped."""
        if stop := self._stops.get(word(data, "lab")):
            stop.set()
        return {"kind": "stopped"}

    def recorded(self, data: dict[str, Any]) -> dict[str, Any]:
        """Results that came with the project."""
        stem = word(data, "stem")
        if stem not in self.offer()["recorded"]:
            raise InputError(f"there are no recorded results named {shown(stem)!r}")
        whole = (RESULTS / f"{stem}.jsonl").is_file()
        return self.view(self._keep(load(RESULTS, stem) if whole else Printed.read(stem)))

    def view(self, key: str) -> dict[str, Any]:
        """Chart and tables of what is known so far."""
        results = self._find(key)
        if isinstance(results, Printed):
            return {"kind": "results", "lab": key, **results.view()}
        experiment = get_experiment(results.header["experiment"])
        tables = experiment.tables(results) if results.rows else []
        return {
            "kind": "results",
            "lab": key,
            "done": len(results.rows),
            "total": results.total,
            "figure": experiment.figure(results) if results.rows else None,
            "tables": [asdict(table) | {"caption": sentence(table.caption)} for table in tables],
            "files": ["rows", "tables"] if results.rows else [],
            "about": about(results),
            "command": results.header["command"],
        }

    def runs(self, data: dict[str, Any]) -> dict[str, Any]:
        """The decodes behind a point, those with a wrong answer first."""
        results = self._find(word(data, "lab"))
        if isinstance(results, Printed):
            raise InputError(NO_ROWS)
        found = results.runs(word(data, "variant"))
        found.sort(key=lambda run: (run.row.get("right", True) is not False, run.sample))
        return {
            "kind": "runs",
            "model": results.header["model"],
            "runs": [
                {
                    "sample": run.sample,
                    "prompt": run.prompt,
                    "lanes": [{"decoder": run.decoder, "settings": dict(run.settings)}, one_by_one(run)],
                    "right": run.row.get("right"),
                    "passes": run.row.get("passes"),
                    "text": sentence(str(run.row.get("text", ""))),
                }
                for run in found[:RUNS_SHOWN]
            ],
        }

    def file(self, data: dict[str, Any]) -> tuple[str, str, bytes]:
        """Name, media type and content of what there is to download: the rows, or the tables."""
        results = self._find(word(data, "lab"))
        if isinstance(results, Printed):
            return f"{results.stem}.md", "text/markdown", results.markdown.encode()
        stem = results.stem
        if word(data, "kind") == "tables":
            return f"{stem}.md", "text/markdown", markdown(results).encode()
        return f"{stem}.jsonl", "application/jsonl", results.jsonl().encode()

    def _keep(self, results: Results | Printed) -> str:
        key = secrets.token_urlsafe(18)
        with self._lock:
            self._kept[key] = results
            while len(self._kept) > RESULTS_KEPT:
                self._kept.popitem(last=False)
        return key

    def _find(self, key: str) -> Results | Printed:
        with self._lock:
            results = self._kept.get(key)
        if results is None:
            raise InputError("the server has forgotten these results; run the experiment again")
        return results


def one_by_one(run: Run) -> dict[str, Any]:
    """What a run is shown beside: its prompt, one token per pass."""
    region = {name: value for name, value in run.settings.items() if name in ("gen_length", "block_length")}
    return {"decoder": ONE_BY_ONE.decoder, "settings": region}


def about(results: Results) -> str:
    """One line on what was run."""
    header = results.header
    done = "" if results.complete else f"; {len(results.rows)} of {results.total} rows so far"
    return f"{header['task_title']}, model {header['model']}, {header['samples']} samples, seed {header['seed']}{done}"


def word(data: dict[str, Any], name: str) -> str:
    """A short string from what a client sent."""
    value = data.get(name)
    if not isinstance(value, str) or len(value) > 300:
        raise InputError(f"{name} must be text of at most 300 characters")
    return value


def plotly(_: dict[str, Any]) -> dict[str, Any]:
    """The chart library, for a browser that is about to draw its first chart."""
    return {"kind": "script", "text": plotly_source()}


@cache
def plotly_source() -> str:
    return (resources.files("plotly") / "package_data" / "plotly.min.js").read_text(encoding="utf-8")
