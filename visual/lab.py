"""The Lab: experiments of `dard.experiments`, small, for a page. No Gradio in here.

Promises: what arrives is checked; an experiment tells how far it is, with its chart and tables, as it goes, and stops
between two batches; the results of the last few runs, the recorded ones and those a visitor opened are kept, to ask for
the decodes behind them or for a file. An opened file is hostile: it is refused with a sentence, or shown in bounds.
Does not know: the browser, or how a decode is shown.
"""

from __future__ import annotations

import json
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from dard.experiments import EXPERIMENTS, Results, get_experiment, load, make_plan, markdown, run
from dard.experiments.variants import ONE_BY_ONE
from dard.folders import assets
from dard.samples import ONLY, SORTS, Sample, beside, choose, joined, of_results, read
from dard.state import InputError
from dard.tasks import TASKS
from visual.images import UPLOAD_AT_MOST
from visual.payload import sentence, shown
from visual.service import decoded

if TYPE_CHECKING:
    from dard.models import Model

RESULTS = assets("results")
SAMPLES_AT_MOST = 100
RESULTS_KEPT = 20
RUNS_SHOWN = 100
FILES_AT_MOST = 20  # opened together
NEWS_EVERY = 0.4  # seconds between two charts


# What a figure would take for markup, in a file of unknown origin.
MARKUP = frozenset("<>&{}%")
UNDRAWABLE = (KeyError, TypeError, ValueError, AttributeError, IndexError, ArithmeticError, RecursionError)


@dataclass
class Kept:
    """An experiment's results, or only samples."""

    results: Results | None = None
    opened: list[Sample] = field(default_factory=list)

    @property
    def samples(self) -> list[Sample]:
        return of_results(self.results) if self.results else self.opened


class Lab:
    """The experiments of all visitors."""

    def __init__(self, model: Callable[[str], Model]) -> None:
        self._model = model
        self._kept: OrderedDict[str, Kept] = OrderedDict()
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
            "recorded": sorted(path.stem for path in RESULTS.glob("*.jsonl")),
            "samples": SAMPLES_AT_MOST,
            "only": list(ONLY),
            "sorts": list(SORTS),
            "files": FILES_AT_MOST,
            "upload": UPLOAD_AT_MOST,
        }

    def experiment(self, data: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Run an experiment, telling how far it is."""
        samples, seed = data.get("samples"), data.get("seed", 0)
        if isinstance(samples, int) and not isinstance(samples, bool) and samples > SAMPLES_AT_MOST:
            raise InputError(f"samples = {samples} is too many for this page; it runs at most {SAMPLES_AT_MOST}")
        task = word(data, "task")
        if task not in TASKS:
            raise InputError(f"unknown task {shown(task)!r}; this page has {', '.join(TASKS)}")
        plan = make_plan(word(data, "experiment"), self._model(word(data, "model")), task, samples, seed)
        key, stop = self._keep(Kept(plan.results)), threading.Event()
        self._stops[key] = stop
        try:
            told = 0.0
            for progress in run(plan, stop=stop):
                if time.monotonic() - told >= NEWS_EVERY and progress.done:
                    yield self.view(key)
                    told = time.monotonic()
                else:
                    yield {"kind": "progress", "lab": key, "done": progress.done, "total": progress.total}
            yield self.view(key)
        finally:
            self._stops.pop(key, None)

    def stop(self, data: dict[str, Any]) -> dict[str, Any]:
        """Stop an experiment after the batch it is in."""
        if stop := self._stops.get(word(data, "lab")):
            stop.set()
        return {"kind": "stopped"}

    def recorded(self, data: dict[str, Any]) -> dict[str, Any]:
        """Results that came with the project."""
        stem = word(data, "stem")
        if stem not in self.offer()["recorded"]:
            raise InputError(f"there are no recorded results named {shown(stem)!r}")
        return self.view(self._keep(Kept(load(RESULTS, stem))))

    def open(self, data: dict[str, Any]) -> dict[str, Any]:
        """Results that a visitor brought: of one experiment with its chart and tables, of others their samples."""
        files = data.get("files")
        if not isinstance(files, list) or not 1 <= len(files) <= FILES_AT_MOST:
            raise InputError(f"open 1 to {FILES_AT_MOST} results files at once")
        found: dict[str, tuple[list[Sample], Results | None]] = {}
        for file in files:
            if not isinstance(file, dict):
                raise InputError("a results file must be an object of name, rows and run")
            name = shown(word(file, "name"), 100)
            rows = decoded(file.get("rows"), name, UPLOAD_AT_MOST)
            run = decoded(file["run"], f"the run.json of {name}", UPLOAD_AT_MOST) if file.get("run") else b""
            found[word(file, "folder")] = read(rows, run, name)
        results = next(iter(found.values()))[1] if len(found) == 1 else None
        if results is None:
            samples = joined({folder: samples for folder, (samples, _) in found.items()})
            return self.listed(self._keep(Kept(opened=samples)))
        header = results.header
        names = [header[name] for name in ("experiment", "model", "task", "task_title", "title")]
        for text in [*names, *(variant.name for variant in results.variants)]:
            if not isinstance(text, str) or len(text) > 200 or MARKUP & set(text):
                raise InputError(f"{name} is not shown: it has the name {shown(str(text))!r}")
        key = self._keep(Kept(results))
        try:
            view = self.view(key)
            json.dumps(view, allow_nan=False)  # a browser reads no infinity
            return view
        except UNDRAWABLE as error:
            self._kept.pop(key, None)
            raise InputError(f"{name} cannot be shown: {type(error).__name__} in its rows") from None

    def listed(self, key: str) -> dict[str, Any]:
        """Samples without chart and tables."""
        count = len(self._find(key).samples)
        about = f"{count} samples of an evaluation"
        parts: dict[str, Any] = {"figure": None, "tables": [], "about": about, "command": None}
        return {"kind": "results", "lab": key, "done": count, "total": count, "variants": self._variants(key), **parts}

    def _variants(self, key: str) -> list[str]:
        kept = self._find(key)
        names = [v.name for v in kept.results.variants] if kept.results else [s.variant for s in kept.opened]
        return list(dict.fromkeys(names))

    def _results(self, key: str) -> Results:
        results = self._find(key).results
        if results is None:
            raise InputError("these samples are of an evaluation and have no table")
        return results

    def view(self, key: str) -> dict[str, Any]:
        """Chart and tables of what is known so far."""
        results = self._results(key)
        experiment = get_experiment(results.header["experiment"])
        tables = experiment.tables(results) if results.rows else []
        return {
            "kind": "results",
            "lab": key,
            "done": len(results.rows),
            "total": results.total,
            "variants": self._variants(key),
            "figure": experiment.figure(results) if results.rows else None,
            "tables": [asdict(table) | {"caption": sentence(table.caption)} for table in tables],
            "about": sentence(about(results)),
            "command": results.header["command"] and sentence(str(results.header["command"])),
        }

    def runs(self, data: dict[str, Any]) -> dict[str, Any]:
        """The decodes behind a variant, or behind all of them: which ones, and in which order, is asked for."""
        kept, variant = self._find(word(data, "lab")), word(data, "variant")
        if variant and variant not in self._variants(word(data, "lab")):
            raise InputError(f"these results have no variant {shown(variant)!r}")
        every = kept.samples
        asked = {name: word(data, name) for name in ("only", "sort", "text") if name in data}
        found = choose(every, variant=variant, **asked)
        of_variant = [sample for sample in every if variant in ("", sample.variant)]
        few = found[:RUNS_SHOWN]
        return {
            "kind": "runs",
            "count": len(found),
            "all": len(of_variant),
            "wrong": sum(sample.right is False for sample in of_variant),
            "runs": [told(sample, others) for sample, others in zip(few, beside(every, few), strict=True)],
        }

    def file(self, data: dict[str, Any]) -> tuple[str, str, bytes]:
        """Name, media type and content of what there is to download: the rows, or the tables."""
        results = self._results(word(data, "lab"))
        stem = results.stem
        if word(data, "kind") == "tables":
            return f"{stem}.md", "text/markdown", markdown(results).encode()
        return f"{stem}.jsonl", "application/jsonl", results.jsonl().encode()

    def _keep(self, kept: Kept) -> str:
        key = secrets.token_urlsafe(18)
        with self._lock:
            self._kept[key] = kept
            while len(self._kept) > RESULTS_KEPT:
                self._kept.popitem(last=False)
        return key

    def _find(self, key: str) -> Kept:
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
        "model": sample.model,
        "asked": sample.prompt,
        "lanes": [*lanes, *alone],
        "traces": [[s.folder, s.trace] for s in (sample, *others) if s.trace],
    }


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
