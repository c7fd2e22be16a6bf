"""The Lab: experiments of `dard.experiments`, small, for a page. No Gradio in here.

Promises: what arrives is checked; an experiment tells how far it is, with its chart and tables, as it goes, yields the
model to visitors, and stops when it is told to; the results of the last few runs, the recorded ones and those a visitor
opened are kept, to ask for the decodes behind them or for a file. What is running is kept until it ends, and of the
rest whoever keeps most loses first. An opened file is hostile: it is refused with a sentence, or shown in bounds.
Does not know: the browser, or how a decode is shown.
"""

from __future__ import annotations

import json
import secrets
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from importlib import resources
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dard.core.errors import InputError
from dard.core.folders import assets
from dard.decoding.session import Session
from dard.experiments import EXPERIMENTS, Results, get_experiment, load, make_plan, markdown, run
from dard.results.runs import RUN, SAMPLES, TRACES
from dard.results.samples import LOSING, ONLY, SORTS, Sample, beside, choose, joined, of_results, read
from dard.results.sweep import ONE_BY_ONE
from dard.tasks import TASKS
from dard.trace.format import refuse_many
from visual.payload import sentence, shown
from visual.server.endpoints import File, endpoint
from visual.server.passes import passes
from visual.server.reading import PAGE, a_file
from visual.server.requests import (
    RESULTS_FILES_AT_MOST,
    UPLOAD_AT_MOST,
    AnyNumber,
    ResultsFile,
    ResultsFiles,
    Samples,
    Word,
    decoded,
    displayed,
)
from visual.server.visitors import VISITOR
from visual.server.weight import estimate, weight

if TYPE_CHECKING:
    from dard.models import Model

RESULTS = assets("results")
SAMPLES_AT_MOST = 100
RESULTS_KEPT = 40
RESULTS_BYTES_EACH = 24 << 20  # of memory, of one visitor, beside the newest
RESULTS_BYTES_KEPT = 256 << 20
RUNS_SHOWN = 100
NO_ROWS = "the decodes behind these recorded results did not come with this page; run the experiment to see some"
NEWS_EVERY = 0.4  # seconds between two charts
# What a figure would take for markup, in a file of unknown origin.
MARKUP = frozenset("<>&{}%")
UNDRAWABLE = (KeyError, TypeError, ValueError, AttributeError, IndexError, ArithmeticError, RecursionError)


class Stopped(Exception):
    """Nobody waits for the rest of an experiment."""


@dataclass(frozen=True)
class StaticResults:
    """Recorded results whose rows are not here, as on a Space: the chart and the tables that were made of them."""

    stem: str
    figure: dict[str, Any]
    markdown: str

    @staticmethod
    def read(stem: str) -> StaticResults:
        figure, tables = ((RESULTS / f"{stem}.{end}").read_text(encoding="utf-8") for end in ("figure.json", "md"))
        return StaticResults(stem, json.loads(figure), tables)

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


@dataclass(frozen=True)
class ResultsEntry:
    """What someone looks at: an experiment's results, what was printed of some, or only samples. `opened` are the
    samples, as far as they were asked for: every click on a point asks for them again."""

    results: Results | None = None
    static: StaticResults | None = None
    opened: list[Sample] = field(default_factory=list)
    visitor: str = field(default_factory=VISITOR.get)
    bytes: int = 0  # of what came from a file

    @property
    def samples(self) -> list[Sample]:
        if self.static:
            raise InputError(NO_ROWS)
        if self.results and len(self.opened) != len(self.results.rows):  # rows are only ever added
            self.opened[:] = of_results(self.results)
        return self.opened

    @property
    def variants(self) -> list[str]:
        names = [v.name for v in self.results.variants] if self.results else [s.variant for s in self.opened]
        return list(dict.fromkeys(names))

    @property
    def only(self) -> list[str]:
        """Which of the samples can be asked for: of the kinds of failures, those that are there."""
        rows = self.results.rows if self.results else []
        kinds = {row["diagnosis"]["kind"] for row in rows if row.get("diagnosis")} | {s.kind for s in self.opened}
        return [name for name in ONLY if name not in LOSING or name in kinds]

    def view(self) -> dict[str, Any]:
        """Chart and tables of what is known so far."""
        if self.static:
            return self.static.view()
        results, count = self.results, len(self.opened)
        if results is None:
            told = {"about": f"{count} samples", "command": None, "of": None}
            return {"done": count, "total": count, "figure": None, "tables": [], "files": [], **told}
        experiment = get_experiment(results.header["experiment"])
        tables = experiment.tables(results) if results.rows else []
        return {
            "done": len(results.rows),
            "total": results.total,
            "figure": experiment.figure(results) if results.rows else None,
            "tables": [asdict(table) | {"caption": sentence(table.caption)} for table in tables],
            "files": ["rows", "tables"] if results.rows else [],
            "about": sentence(about(results)),
            "command": results.header["command"] and sentence(str(results.header["command"])),
            "of": [results.header["experiment"], results.header["task"]],
        }


class Lab:
    """The experiments of all visitors."""

    def __init__(self, model: Callable[[str], Model]) -> None:
        self._model = model
        self._kept: OrderedDict[str, ResultsEntry] = OrderedDict()
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
            "sorts": list(SORTS),
            "files": RESULTS_FILES_AT_MOST,
            "upload": UPLOAD_AT_MOST,
            "run": {"rows": SAMPLES, "about": RUN, "traces": TRACES},
        }

    @endpoint(queue=True, needs_model=True)
    def experiment(
        self, experiment: Word, task: Word, model: Word, samples: Samples = None, seed: AnyNumber = 0
    ) -> Iterator[dict[str, Any]]:
        """Run an experiment, telling how far it is."""
        if samples is not None and samples > SAMPLES_AT_MOST:
            many = displayed(samples)
            raise InputError(f"samples = {many} is too many for this page; it runs at most {SAMPLES_AT_MOST}")
        if task not in TASKS:
            raise InputError(f"unknown task {shown(task)!r}; this page has {', '.join(TASKS)}")
        plan = make_plan(experiment, self._model(model), task, samples, seed)
        entry, stop = ResultsEntry(plan.results), threading.Event()
        key = self._keep(entry, stop)

        def finish(sessions: Sequence[Session]) -> None:
            """In what visitors leave of the passes; Stop need not wait for the rest of the batch."""
            for _ in passes(model, sessions, background=True):
                if stop.is_set():
                    raise Stopped

        plan.job = replace(plan.job, finish=finish)
        try:
            told = 0.0
            for progress in run(plan, stop=stop):
                if time.monotonic() - told >= NEWS_EVERY and progress.done:
                    yield self._told(key, entry)
                    told = time.monotonic()
                else:
                    yield {"kind": "progress", "lab": key, "done": progress.done, "total": progress.total}
        except Stopped:
            pass
        finally:
            self._stops.pop(key, None)
        yield self._told(key, entry)

    @endpoint(name="lab_stop")
    def stop(self, lab: Word) -> dict[str, Any]:
        """Stop an experiment; the batch it is in is dropped."""
        if stop := self._stops.get(lab):
            stop.set()
        return {"kind": "stopped"}

    @endpoint(name="lab_recorded")
    def recorded(self, stem: Word) -> dict[str, Any]:
        """Results that came with the project."""
        if stem not in self.offer()["recorded"]:
            raise InputError(f"there are no recorded results named {shown(stem)!r}")
        return self.view(self._keep(replace(recorded_entry(RESULTS, stem), visitor=VISITOR.get())))

    @endpoint(name="lab_open")
    def open(self, files: ResultsFiles) -> dict[str, Any]:
        """Results that a visitor brought: of one experiment with its chart and tables, of others their samples."""
        with a_file():
            return self._open(files)

    def _open(self, files: Sequence[ResultsFile]) -> dict[str, Any]:
        brought: dict[str, tuple[list[Sample], Results | None]] = {}
        for file in files:
            name = shown(file.name, 100)
            rows = decoded(file.rows, name)
            run = decoded(file.run, f"the run.json of {name}") if file.run else b""
            for part in (rows, run):
                refuse_many(part, PAGE)
            brought[file.folder] = read(rows, run, name)
        results = next(iter(brought.values()))[1] if len(brought) == 1 else None
        if results is None:
            samples = joined({folder: samples for folder, (samples, _) in brought.items()})
            return self.view(self._keep(ResultsEntry(opened=samples, bytes=estimate(samples))))
        header = results.header
        names = [header[name] for name in ("experiment", "model", "task", "task_title", "title")]
        for text in [*names, *(variant.name for variant in results.variants)]:
            if not isinstance(text, str) or len(text) > 200 or MARKUP & set(text):
                raise InputError(f"{name} is not shown: it has the name {shown(str(text))!r}")
        try:
            json.dumps(ResultsEntry(results).view(), allow_nan=False)  # a browser reads no infinity
        except UNDRAWABLE as error:
            raise InputError(f"{name} cannot be shown: {type(error).__name__} in its rows") from None
        return self.view(self._keep(ResultsEntry(results, bytes=weight([results.header, results.rows]))))

    def view(self, key: str) -> dict[str, Any]:
        """What is on screen of some results, and the variants whose decodes can be asked for."""
        return self._told(key, self._find(key))

    @staticmethod
    def _told(key: str, kept: ResultsEntry) -> dict[str, Any]:
        return {"kind": "results", "lab": key, "variants": kept.variants, "only": kept.only, **kept.view()}

    @endpoint(name="lab_runs")
    def runs(
        self, lab: Word, variant: Word, only: Word = "all", sort: Word = "number", text: Word = ""
    ) -> dict[str, Any]:
        """The decodes behind a variant, or behind all of them: which ones, and in which order, is asked for."""
        kept = self._find(lab)
        every = kept.samples
        if variant and variant not in kept.variants:
            raise InputError(f"these results have no variant {shown(variant)!r}")
        chosen = choose(every, only, sort, variant, text)
        of_variant = [sample for sample in every if variant in ("", sample.variant)]
        few = chosen[:RUNS_SHOWN]
        return {
            "kind": "runs",
            "count": len(chosen),
            "all": len(of_variant),
            "wrong": sum(sample.right is False for sample in of_variant),
            "runs": [told(sample, others) for sample, others in zip(few, beside(every, few), strict=True)],
        }

    @endpoint(name="lab_file")
    def file(self, lab: Word, kind: Word) -> File:
        """What there is to download: the rows, or the tables."""
        kept = self._find(lab)
        if kept.static:
            return File(f"{kept.static.stem}.md", "text/markdown", kept.static.markdown.encode())
        if (results := kept.results) is None:
            raise InputError("these samples are of an evaluation and have no table")
        if kind == "tables":
            return File(f"{results.stem}.md", "text/markdown", markdown(results).encode())
        return File(f"{results.stem}.jsonl", "application/jsonl", results.jsonl().encode())

    @endpoint()
    def plotly(self) -> dict[str, Any]:
        """The chart library, for a browser that is about to draw its first chart."""
        return {"kind": "script", "text": plotly_source()}

    def _keep(self, kept: ResultsEntry, stop: threading.Event | None = None) -> str:
        """With `stop` it is kept at least until that is taken away again."""
        key = secrets.token_urlsafe(18)
        with self._lock:
            self._kept[key] = kept
            if stop:
                self._stops[key] = stop
            while gone := self._one_too_many(key):
                del self._kept[gone]
        return key

    def _one_too_many(self, newest: str) -> str | None:
        """The results to forget next, if all of them are too many or too large."""
        size, count = Counter[str](), Counter[str]()
        for entry in self._kept.values():
            size[entry.visitor] += entry.bytes
            count[entry.visitor] += 1
        visitors = [visitor for visitor in size if size[visitor] > RESULTS_BYTES_EACH]
        if size.total() > RESULTS_BYTES_KEPT:
            visitors = [visitor for visitor, _ in size.most_common()]
        if count.total() > RESULTS_KEPT:
            visitors = [visitor for visitor, _ in count.most_common()]
        idle = [key for key in self._kept if key != newest and key not in self._stops]
        return next((key for who in visitors for key in idle if self._kept[key].visitor == who), None)

    def _find(self, key: str) -> ResultsEntry:
        with self._lock:
            kept = self._kept.get(key)
        if kept is None:
            raise InputError("the server has forgotten these results; run the experiment again, or open them again")
        return kept


def told(sample: Sample, others: list[Sample]) -> dict[str, Any]:
    """A sample for the list: what opens it, alone and beside other decoders' answers to the same question."""
    row = {name: getattr(sample, name) for name in ("number", "right", "passes", "revocations", "folder", "trace")}
    words = {name: sentence(getattr(sample, name) or "") for name in ("variant", "item", "prompt", "text", "target")}
    lanes = [{"decoder": s.decoder, "settings": dict(s.settings)} for s in (sample, *others)]
    region = {name: value for name, value in sample.settings.items() if name in ("gen_length", "block_length")}
    alone = [] if others else [{"decoder": ONE_BY_ONE.decoder, "settings": region}]
    return {
        **row,
        **words,
        "ended_by": sentence(sample.ended_by or ""),
        "kind": sample.kind,
        "lost_by": sample.lost_by,
        "model": sample.model,
        "asked": sample.prompt,
        "lanes": [*lanes, *alone],
        "traces": [[s.folder, s.trace] for s in (sample, *others) if s.trace],
        "names": [sentence(s.variant) for s in (sample, *others) if s.trace],
    }


def about(results: Results) -> str:
    """One line on what was run."""
    header = results.header
    done = "" if results.complete else f"; {len(results.rows)} of {results.total} rows so far"
    return f"{header['task_title']}, model {header['model']}, {header['samples']} samples, seed {header['seed']}{done}"


@cache
def recorded_entry(folder: Path, stem: str) -> ResultsEntry:
    """What came with the project is read once, however often it is asked for."""
    if (folder / f"{stem}.jsonl").is_file():
        return ResultsEntry(load(folder, stem))
    return ResultsEntry(static=StaticResults.read(stem))


@cache
def plotly_source() -> str:
    return (resources.files("plotly") / "package_data" / "plotly.min.js").read_text(encoding="utf-8")
