"""Answers for an evaluation harness: decoded in shared passes, cut where the harness stops, every decode kept.

Promises: the same answers whatever the batch; prompts are token ids, as they stand; `gen_length` is what was set for
the run, else what a task asks for, else the model's own. Several processes share a run's batches; what a stopped run
has done is not done again, and the share of a process that is gone is done by the others. A sample that cannot be
decoded (its prompt is longer than the model takes) gets an empty answer and a sentence in its row, and the others go
on; if none can be, that sentence ends the run.
Does not know: any harness. What asks is a list of `Request`s.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tqdm.auto import tqdm

from dard.core.errors import InputError
from dard.decoders import get_decoder, make_settings
from dard.decoding import loop
from dard.decoding.session import Session
from dard.models import Model, load_model, with_image, with_thinking
from dard.results.provenance import code_version, digest, fingerprint, machine
from dard.results.runs import Key, RunFolder
from dard.results.sweep import Process, Row, decode_row

ROOM = ("max_gen_toks", "max_new_tokens", "max_tokens", "max_completion_tokens")  # what harnesses call gen_length
PAUSE = 0.2  # seconds between two looks at what others have written
PICTURE = re.compile(r"<image ?\d*>")  # where a question says that a picture stands


@dataclass(frozen=True)
class Request:
    """One sample. `prompt` gives its token ids when its turn comes; `options` is what its task asks of a generation."""

    prompt: Callable[[], Sequence[int]]
    task: str
    sample: int
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass
class Prepared:
    """A request, its name in the run's folder, and what became of its prompt."""

    request: Request
    key: Key
    ids: list[int] = field(default_factory=list)
    prompt_hash: str = ""
    before: int = 0  # how often the same prompt was asked before it
    problem: str | None = None


class Answers:
    """A model and a decoder that answer, and the folder they leave behind.

    `until` is what ends an answer where a task does not say. Whatever is no argument here is a setting of the decoder.
    """

    def __init__(
        self,
        harness: str,
        pretrained: str = "embedded",
        decoder: str = "dard",
        *,
        out: str | Path | None = None,
        batch_size: int | str | None = None,
        max_batch_size: int | None = None,
        until: Sequence[str] = (),
        think: bool = False,
        record: bool = True,
        **values: Any,
    ) -> None:
        process, own = Process.this(), get_decoder(decoder).Settings.allowed()
        if process.count > 1 and out is None:
            raise InputError("out must be given where several processes share a run: a folder that all of them see")
        self.settings = {name: value for name, value in values.items() if name in own}
        self.batch = read_batch(batch_size)
        loading = {name: value for name, value in values.items() if name not in own}
        unknown = set(loading) - set(load_model.__kwdefaults__ or ())
        if unknown:
            name = sorted(unknown)[0]
            raise InputError(f"{name[:60]!r} is neither a setting of {decoder} nor an argument of load_model")
        model = load_model(pretrained, **loading)
        self.model: Model = with_thinking(model) if think else model
        self.decoder, self.until, self.record, self.process = decoder, list(until), record, process
        about = {
            "harness": harness,
            "model": self.model.name,
            "weights": fingerprint(self.model),
            "decoder": decoder,
            "settings": make_settings(decoder, self.settings, self.model).as_dict(),
            "batch": self.batch,
            "code": code_version(),
            "machine": machine(self.model),
        }
        name = f"{harness.split()[0]}-{decoder}-{time.strftime('%Y%m%d-%H%M%S')}"
        self.run = RunFolder(Path("runs") / name if out is None else out, about, self.process)

    def answer(self, requests: Sequence[Request]) -> list[str]:
        """The answers, in the order of the requests: this process's share is decoded, that of others waited for, and
        what is there already is taken as it is."""
        every = [Prepared(each, self.run.ask(each.task, each.sample)) for each in requests]
        batches = [every[first : first + self.batch] for first in range(0, len(every), self.batch)]
        with tqdm(total=len(requests), desc=f"decoding with {self.decoder}") as bar:
            for number, batch in enumerate(batches):
                for asked in batch:
                    self._prepare(asked)
                known = sum(self.run.row(asked.key) is not None for asked in batch)
                own = number % self.process.count == self.process.index
                bar.update(known + (self._decode(batch) if own else 0))
            while left := [number for number, batch in enumerate(batches) if self._lacks(batch)]:
                self.run.read()
                gone = [number for number in left if not self.run.is_at_work(number % self.process.count)]
                if not gone:
                    time.sleep(PAUSE)
                for number in gone:  # whoever was to do it
                    self._decode(batches[number])
        self.run.settle()
        rows = [self.run.row(asked.key) or {} for asked in every]
        problems = [row["problem"] for row in rows if row["problem"]]
        if problems and len(problems) == len(rows):
            raise InputError(f"none of the {len(rows)} samples could be decoded; the first: {problems[0]}")
        if problems:
            tqdm.write(f"{len(problems)} of {len(rows)} samples were not decoded; their rows say why")
        return [row["text"] for row in rows]

    def _lacks(self, batch: Sequence[Prepared]) -> bool:
        return any(self.run.row(asked.key) is None for asked in batch)

    def _prepare(self, asked: Prepared) -> None:
        """Its token ids, and how often they were asked before: whoever decodes it, noise and file are the same."""
        try:
            asked.ids = list(asked.request.prompt())
            asked.prompt_hash = digest([f"{asked.ids} ".encode()])
            asked.before = self.run.again(asked.prompt_hash)
        except InputError as error:
            asked.problem = str(error)
        row = self.run.row(asked.key)
        if row is not None and row["prompt_hash"] not in (None, asked.prompt_hash):
            raise InputError(
                f"out = {str(self.run.folder)!r} is not allowed; it holds an answer to another prompt for sample "
                f"{asked.request.sample} of {asked.request.task[:60]}"
            )

    def _decode(self, batch: Sequence[Prepared]) -> int:
        """Decode a batch if it lacks rows, and add those; how many they are. The whole batch is decoded even if only a
        part is missing: in other company a row might differ by a rounding."""
        if not self._lacks(batch):
            return 0
        rows: dict[Key, Row] = {}
        going: list[tuple[Row, Prepared, Session]] = []
        for asked in batch:
            nothing = {"passes": 0, "tokens": 0, "revocations": 0, "ended_by": None, "text": "", "seconds": 0.0}
            row: Row = {"task": asked.request.task, "sample": asked.request.sample, "prompt_hash": None, "trace": None}
            row |= {"problem": asked.problem, **nothing}
            rows[asked.key] = row
            if asked.problem is None:
                row["prompt_hash"] = asked.prompt_hash
                try:
                    going.append((row, asked, self._session(asked)))
                except InputError as error:
                    row["problem"] = str(error)
        loop.finish([session for *_, session in going])
        for row, asked, session in going:
            name = self.run.keep(asked.prompt_hash, asked.before, session.trace)
            row |= {**decode_row(session.trace), "trace": name}
            row["text"] = cut(row["text"], asked.request.options.get("until", self.until))
        new = {key: row for key, row in rows.items() if self.run.row(key) is None}
        self.run.add(new)
        return len(new)

    def _session(self, of: Prepared) -> Session:
        """A task's room and noise count unless the run has its own; a prompt that comes again gets other noise."""
        own: dict[str, Any] = {}
        options = of.request.options
        if (room := next((options[name] for name in ROOM if options.get(name)), None)) is not None:
            own["gen_length"] = room
        if options.get("do_sample") is not False and options.get("temperature"):
            own["temperature"] = options["temperature"]
        values = own | self.settings
        if values.get("temperature"):
            values["seed"] = int(values.get("seed", 0)) + of.before
        return Session(self.model, of.ids, self.decoder, record=self.record, **values)


def read_batch(value: int | str | None) -> int:
    """How many samples share their passes.

    >>> read_batch("8"), read_batch(None)
    (8, 1)
    """
    text = "1" if value is None else str(value)
    if not text.isdecimal() or not 1 <= int(text) <= 1024:
        raise InputError(f"batch_size = {text[:40]!r} is not allowed; batch_size must be a whole number from 1 to 1024")
    return int(text)


def cut(text: str, until: str | Sequence[str]) -> str:
    """The text before the first of the strings that end it.

    >>> cut("so 4\\n\\nQ: next", ["Q:", "\\n\\n"])
    'so 4'
    """
    stops = [until] if isinstance(until, str) else [str(stop) for stop in until or ()]
    return text[: min((place for stop in stops if stop and (place := text.find(stop)) >= 0), default=len(text))]


def bare_prompt(model: Model, context: str) -> list[int]:
    """The token ids of a text that is complete: whatever wraps it has wrapped it."""
    if getattr(model, "suffix", ()):
        raise InputError(f"model {model.name!r} puts marks after its text, for which a harness's prompt has no place")
    return [*getattr(model, "prefix", ()), *getattr(model, "encode_piece", model.encode)(context)]


def pictured_prompt(model: Model, context: str, pictures: Sequence[Any], fit: str = "crop") -> list[int]:
    """The token ids of a question with pictures before it; where the question mentions their places is left out."""
    shown = with_image(model, *pictures, fit=fit) if pictures else model
    return [*getattr(shown, "prefix", ()), *shown.encode(PICTURE.sub("", context).strip())]


def verdict(scores: Mapping[str, Any]) -> Row:
    """What a row tells of a harness's scores for one sample: the first counts, `details` has all that are numbers.

    >>> verdict({"exact_match,strict": 1.0, "exact_match,loose": 0})["right"]
    True
    """
    details = {name: float(value) for name, value in scores.items() if isinstance(value, bool | int | float)}
    score = next(iter(details.values()), None)
    right = None if score is None or not 0 <= score <= 1 else score == 1
    return {"score": score, "right": right, "details": details}
