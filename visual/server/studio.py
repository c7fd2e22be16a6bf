"""What the page and the notebook ask: start a decode, go on, branch, look, export.

Promises: each question is an endpoint of the one table; a run that is refused something stays as it was.
Does not know: how a question arrived, or what programs and assistants ask (`programs.py`).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from dard.analysis.causes import attention, some_causes
from dard.analysis.layers import layers_before
from dard.core.errors import InputError, UnknownWords
from dard.core.state import STATE_NAMES
from dard.decoders import make_settings
from dard.decoding.session import Session
from dard.models import with_thinking
from dard.tasks import TASKS
from dard.trace import Trace
from dard.trace.annotations import annotated_answer
from dard.trace.words import words_of
from visual.export import MOST_FRAME_BYTES, gif, replay_html
from visual.payload import (
    diagnosis_payload,
    graph,
    layers_payload,
    life,
    packed_weights,
    sentence,
    shown,
    verdict_payload,
)
from visual.server import estimates
from visual.server.answers import company, lane_payload, made, outcome, steps_of, table, view
from visual.server.cases import recorded_case
from visual.server.endpoints import VIEWER, File, endpoint
from visual.server.images import Images
from visual.server.models import Models
from visual.server.passes import call, finish, passes, with_pictures
from visual.server.reading import PAGE, a_file
from visual.server.requests import (
    BRANCHES_AT_MOST,
    NUMBER_AT_MOST,
    PASSES_AT_ONCE,
    AnswerPattern,
    Branch,
    BranchRequest,
    CheckRequest,
    CompareRequest,
    Count,
    DecodeRequest,
    Expectation,
    Frames,
    ImageFile,
    Kind,
    ModelName,
    Number,
    OpenedLane,
    PageRequest,
    StartRequest,
    Step,
    Steps,
    Text,
    Title,
    TraceFile,
    TriesRequest,
    View,
    decoded,
    whole,
)
from visual.server.runs import Lane, Run, Runs, apart, lane_names
from visual.server.searches import Search

ANIMATION_AT_MOST = 64 << 20  # characters of all its frames
WORDS_AT_MOST = 5000  # of a model's list; longer ones are no use to a reader
WORD_AT_MOST = 100  # characters
DIAGNOSED_SECONDS = 0.5  # of one answer about a diagnosis
CAUSES_SECONDS = 0.5  # of one answer about causes; the page asks until it knows them all, or is told to stop
TRIED_SECONDS = 0.5  # of one answer about other settings
TRIED_TOGETHER = 32
STEPS_AT_ONCE = 64  # of those that are asked for again


class Place(NamedTuple):
    """Where somebody looks."""

    run: Run
    lane: Lane


class Studio:
    """The service behind a page. One instance per server."""

    def __init__(self, models: tuple[str, ...] = ("embedded",), positions: int | None = None, **loading: Any) -> None:
        """`positions`: how long a region may be; `loading` goes to `dard.load_model`."""
        self.models = Models(models, **loading)
        self.positions = estimates.region_at_most(positions)
        self.runs = Runs()
        self._images = Images()
        self._animating = threading.Lock()

    def session(self, request: DecodeRequest, record: bool = True) -> Session:
        """A decode that has made no step yet."""
        settings = request.settings or {}
        make_settings(request.decoder, settings)  # refuses names that are no settings before they become arguments
        name = self.models.named(request.model)
        model = self.models.load(name)
        if isinstance(request, PageRequest):
            if request.images:
                model = self._images.show(name, model, tuple(request.images), request.fit, with_pictures)
            if request.think:
                model = with_thinking(model)
        session = Session(model, request.prompt, request.decoder, record=record, **settings)
        if len(session.state.tokens) > self.positions:
            raise InputError(
                f"a region of {len(session.state.tokens)} positions is too long for this page; "
                f"it decodes at most {self.positions}"
            )
        return session

    def decode(self, request: DecodeRequest) -> Trace:
        """A whole decode."""
        session = self.session(request)
        finish(self.models.named(request.model), [session])
        return session.trace

    def new_run(self, model: str, *lanes: Lane) -> Run:
        return self.runs.new(self.models.named(model), *lanes)

    def at(self, key: str, number: int) -> Place:
        """The run and the lane that are meant."""
        run = self.runs.find(key)
        return Place(run, run.lanes[whole("branch", number, 0, len(run.lanes) - 1)])

    def _view(self, run: Run, number: int) -> dict[str, Any]:
        return view(run, number, self.models.defaults(run.model))

    # Before a run.

    @endpoint()
    def knows(self, model: ModelName = "") -> dict[str, Any]:
        """What a model that has a closed list of words knows: these words, and the worlds that use no others, each with
        a prompt it was not trained on. Nothing of other models, and of those that are not loaded yet."""
        words = list(getattr(self.models.there(model), "words", ()))
        if len(words) > WORDS_AT_MOST:
            words = []
        worlds = [task for task in TASKS.values() if task.vocabulary() <= set(words)]
        items = [(task.title, task.test_items(1)[0]) for task in worlds]
        return {
            "kind": "knows",
            "words": [word for word in words if len(word) <= WORD_AT_MOST],
            "worlds": [{"title": title, "prompt": i.prompt, "gen_length": i.gen_length} for title, i in items],
        }

    @endpoint()
    def check(self, request: CheckRequest) -> dict[str, Any]:
        """What would come of asking for a run: how many tokens its lanes have, or the sentence that refuses it and the
        words that are not known, with a model that has no such list. Nothing that takes time: no word about a model not
        loaded yet, or about a picture."""
        model, whatever = self.models.there(request.model), {"model": request.model, **(request.model_extra or {})}
        if model is None or "image" in whatever:
            return {"kind": "checked"}
        reply: dict[str, Any] = {"kind": "checked", "limit": model.max_length, "unknown": ()}
        try:
            if "lanes" in whatever:
                sessions = [each for each in self._compared(CompareRequest.of(whatever)) if isinstance(each, Session)]
            else:
                sessions = [self.session(PageRequest.of(whatever))]
        except InputError as error:
            if isinstance(error, UnknownWords):
                reply |= {"unknown": error.words, "instead": self.models.open_to_all_words(model)}
            return reply | {"text": str(error)}
        if sessions and (note := estimates.announced(self.models.named(request.model), sessions)):
            reply["note"] = note
        return reply | {"sizes": [(len(each.state.prompt), len(each.state.tokens)) for each in sessions]}

    @endpoint()
    def open_image(self, data: ImageFile = None) -> dict[str, Any]:
        """Keep a picture for prompts to come; the answer names it and holds a small copy."""
        if not self.models.take_pictures():
            raise InputError("no model of this page takes pictures")
        with a_file():
            return {"kind": "image", **self._images.keep(data)}

    # A new run.

    @endpoint(queue=True, needs_model=True)
    def start(self, request: StartRequest) -> dict[str, Any]:
        """A new run that has made no step yet, or its first `steps`; with `edits`, the branch they lead to, each edit
        on the one before."""
        session = self.session(request)
        run = self.new_run(request.model, Lane("original", session))
        for number, edit in enumerate(request.edits):
            finish(run.model, [session], max(0, edit.step - len(session.steps)))
            self.branch({"run": run.key, "branch": number, **edit.given()})
            session = run.lanes[-1].session or session
        if request.steps:
            finish(run.model, [session], request.steps)
        self.runs.forget(request.instead)
        return self._view(run, len(request.edits))

    @endpoint(queue=True, needs_model=True)
    def tries(self, request: TriesRequest) -> dict[str, Any]:
        """How one prompt ends under many settings: answer, verdict and passes of each, and whether it did end. As far
        as half a second leads, the first few in any case; the rest is asked for again."""
        name, end = self.models.named(request.model), time.monotonic() + TRIED_SECONDS
        shared = request.given("prompt", "decoder", "model", "images", "fit", "think")
        found: list[dict[str, Any]] = []
        while len(found) < len(request.tries) and (not found or time.monotonic() < end):
            some = [
                self.session(PageRequest.of({**shared, "settings": {**(request.settings or {}), **changes}}), False)
                for changes in request.tries[len(found) : len(found) + TRIED_TOGETHER]
            ]
            finish(name, some, PASSES_AT_ONCE, background=True)
            found += map(outcome, some)
        return {"kind": "tries", "found": found}

    @endpoint(queue=True, needs_model=True)
    def compare(self, request: CompareRequest) -> dict[str, Any]:
        """A new run with one lane per decoder, all at their start, and per trace from a file: {"opened": its run}."""
        compared = self._compared(request)
        sessions = [each for each in compared if isinstance(each, Session)]
        names = iter(lane_names(sessions))
        lanes = [Lane(next(names), each) if isinstance(each, Session) else each for each in compared]
        for lane, name in zip(lanes, apart([lane.name for lane in lanes]), strict=True):
            lane.name = name
        run = self.new_run(request.model, *lanes)
        return {
            "kind": "lanes",
            "run": run.key,
            "defaults": self.models.defaults(run.model),
            "payloads": [lane_payload(lane) for lane in run.lanes],
            **({} if sessions else {"table": table(run)}),
        }

    def _compared(self, request: CompareRequest) -> list[Session | Lane]:
        """What shall be compared: a session per decoder, all on one prompt, and a lane per trace from a file."""
        shared = request.given("prompt", "model", "images", "fit", "think")
        compared: list[Session | Lane] = []
        for lane in request.lanes:
            if "opened" in lane:
                opened = self.runs.find(OpenedLane.of(lane).opened).lanes[0]
                compared.append(Lane(opened.name, opened=opened.trace))
            else:
                own = {name: lane[name] for name in ("decoder", "settings") if name in lane}
                compared.append(self.session(PageRequest.of({**shared, **own})))
        if len({each.state.tokens for each in compared if isinstance(each, Session)}) > 1:
            raise InputError("the decoders' regions differ in length; give all of them the same gen_length")
        return compared

    @endpoint()
    def open_trace(self, data: TraceFile = None, name: Title = "from a file") -> dict[str, Any]:
        """A run around a trace file."""
        with a_file():
            return self._view(self.new_run("", Lane(sentence(name), opened=Trace.from_bytes(data, PAGE))), 0)

    @endpoint()
    def recorded(self, name: Text) -> dict[str, Any]:
        """A gallery case as it was recorded, for a page that does not offer the case's model."""
        return self.open_trace({"data": recorded_case(name), "name": name})

    # Going on.

    @endpoint(VIEWER, queue=True)
    def advance(self, run: Text, branch: Branch = 0, steps: Steps = None) -> Iterator[dict[str, Any]]:
        """Go on by `steps` steps (all that are left if it is absent), one answer per step; the last says how many."""
        here = self.at(run, branch)
        here.lane.live("to go on")
        yield from self._go_on(here.run, [branch], steps)

    @endpoint(queue=True)
    def passes(self, run: Text, steps: Steps = None) -> Iterator[dict[str, Any]]:
        """Go on with all lanes in lock-step by `steps` passes, or to the end; the last answer holds the table."""
        here = self.runs.find(run)
        numbers = [number for number, lane in enumerate(here.lanes) if lane.session is not None]
        if not numbers:
            raise InputError("these traces were opened from a file and have no model behind them")
        yield from self._go_on(here, numbers, steps, lambda: {"table": table(here)})

    def _go_on(
        self, run: Run, numbers: list[int], most: int | None, more: Callable[[], dict[str, Any]] = dict
    ) -> Iterator[dict[str, Any]]:
        """Passes of these lanes until they end or are stopped. A session may be ahead of what was told of it: each
        answer holds all that is new. `more` comes with the last one."""
        sessions = {n: session for n in numbers if (session := run.lanes[n].session) is not None}
        told = {n: len(session.steps) for n, session in sessions.items()}
        progress = estimates.Progress(list(sessions.values()))
        with run.working():
            for moved in passes(run.model, list(sessions.values()), most):
                estimates.heard(run.model, moved)
                if fresh := steps_of(run, told):
                    told |= {each["branch"]: each["step"]["index"] for each in fresh}
                    yield {"kind": "steps", "run": run.key, "steps": fresh, **company(run.model), **progress.told()}
                if run.stopping.is_set():
                    break
            yield made(run, numbers) | more()

    @endpoint(VIEWER)
    def steps(self, run: Text, since: Number, branch: Branch = 0) -> dict[str, Any]:
        """The steps of a lane after step `since`, for a browser that did not hear of them; at most so many at once."""
        steps = steps_of(self.at(run, branch).run, {branch: since}, STEPS_AT_ONCE)
        return {"kind": "steps", "run": run, "steps": steps}

    @endpoint(VIEWER)
    def stop(self, run: Text = "", loading: Text | None = None) -> dict[str, Any]:
        """Stop a run after the step it is in; or no longer wait for a model, whose question is named in `loading`."""
        if loading is not None:
            self.models.leave(loading)
        else:
            self.runs.find(run).stopping.set()
        return {"kind": "stopped", "run": run}

    @endpoint(VIEWER, queue=True)
    def branch(self, request: BranchRequest) -> dict[str, Any]:
        """A new branch in which a position was edited after a step; or a step was made again without a token, which was
        hidden from `all`, or from the check of a position."""
        run, lane = self.at(request.run, request.branch)
        step, position, session = request.step, request.position, lane.live("to branch")
        if len(run.lanes) >= BRANCHES_AT_MOST:
            raise InputError(f"this run has {BRANCHES_AT_MOST} branches already; reset, or decode again")
        if request.hide is None:
            token = request.token.strip() or None if isinstance(request.token, str) else request.token
            branch = session.at(step).edit(position, token=token, state=request.state)
            word = shown(branch.trace.word(branch.state.tokens[position]))
            place = words_of(branch.trace).place(position).lower()
            name = f"step {step}, {place}: {word}, {STATE_NAMES[branch.state.states[position]]}"
        else:
            check = None if request.hide == "all" else whole("check", request.check, 0, NUMBER_AT_MOST)
            branch = lane.at_step(step, "to branch").hide(position, check)
            with run.working():
                finish(run.model, [branch], 1)
            word = shown(branch.trace.word(branch.trace.token_before(step, position)))
            words = words_of(branch.trace)
            place = "of the prompt" if position < 0 else words.where(position)
            name = f"step {step}: {word} {place} hidden from {'all' if check is None else words.place(check).lower()}"
        run.lanes.append(Lane(name, branch, **lane.known_before(step + (request.hide is None))))
        return self._view(run, len(run.lanes) - 1)

    # Looking.

    @endpoint(VIEWER)
    def show(self, run: Text, branch: Branch = 0) -> dict[str, Any]:
        """A lane as it stands."""
        return self._view(self.at(run, branch).run, branch)

    @endpoint(VIEWER)
    def life(self, run: Text, position: Number, branch: Branch = 0) -> dict[str, Any]:
        """One token's whole history, for the inspector."""
        return life(self.at(run, branch).lane.trace, position)

    @endpoint(VIEWER)
    def answer(self, run: Text, pattern: AnswerPattern = "", branch: Branch = 0) -> dict[str, Any]:
        """Where the answer stands, when it was first written, and when it settled."""
        trace = self.at(run, branch).lane.trace
        return {"kind": "answer", "answer": annotated_answer(trace, pattern.strip() or None)}

    @endpoint(VIEWER)
    def graph(self, run: Text, step: Step, branch: Branch = 0) -> dict[str, Any]:
        """How the positions of one step depend on one another, cell by cell."""
        return graph(self.at(run, branch).lane.trace, step)

    @endpoint(VIEWER, queue=True)
    def causes(self, run: Text, step: Step, position: Number, tried: Count, branch: Branch = 0) -> dict[str, Any]:
        """The causes of a step's verdict on a position, as far as half a second leads beyond the `tried` that the page
        knows; what has been found is kept with the lane."""
        here, lane = self.at(run, branch)
        known = lane.causes.get((step, position)) or lane.trace.verdict(step, position)
        if known is None or (known.left and tried >= len(known.causes)):
            before = lane.at_step(step, "to see its causes")
            with here.working():
                known = call(here.model, some_causes, before, position, CAUSES_SECONDS, known)
                lane.keep(known)
        return {"kind": "causes", **verdict_payload(lane.trace, known)}

    @endpoint(VIEWER, queue=True)
    def diagnose(self, run: Text, branch: Branch = 0, expected: Expectation = "", anew: bool = False) -> dict[str, Any]:
        """Where a lane lost its answer, as far as half a second leads beyond what is known of it, which is kept with
        the lane; asked again it goes on. Another answer that is `expected` begins `anew`."""
        here, lane = self.at(run, branch)
        if lane.diagnosis is None or lane.diagnosis.stage != "done" or anew or lane.search is None:
            session = lane.live("to see where it was lost")
            if anew or lane.search is None or lane.search.expected != expected:
                lane.search = Search(here.model, session, expected)
            try:
                lane.diagnosis, lane.words = lane.search.go_on(DIAGNOSED_SECONDS)
            except InputError:
                lane.search = None  # what was refused is refused again
                raise
        return {"kind": "diagnosis", "diagnosis": diagnosis_payload(lane.trace)}

    @endpoint(VIEWER, queue=True)
    def attention(self, run: Text, step: Step, branch: Branch = 0) -> dict[str, Any]:
        """Where the queries of a step looked, layer by layer."""
        here, lane = self.at(run, branch)
        before = lane.at_step(step, "to see its attention")
        with here.working():
            weights = call(here.model, attention, before)
        return {"kind": "attention", "step": step, "layers": len(weights), "weights": packed_weights(weights)}

    @endpoint(VIEWER, queue=True)
    def layers(self, run: Text, step: Step, position: Number, branch: Branch = 0) -> dict[str, Any]:
        """What each layer would have said of a position in a step; kept with the lane."""
        here, lane = self.at(run, branch)
        known = lane.layers.get((step, position)) or lane.trace.layers_at(step, position)
        if known is None:
            before = lane.at_step(step, "to see its layers")
            with here.working():
                known = call(here.model, layers_before, before, position, lane.trace.steps[step - 1].tokens)
            lane.keep(known)
        return {"kind": "layers", **layers_payload(lane.trace, known)}

    # Files.

    @endpoint(VIEWER)
    def export(
        self, run: Text, branch: Branch = 0, kind: Kind = "trace", state: View = None, title: Title = ""
    ) -> File:
        """What is shown, in the kind asked for. Pictures are the browser's."""
        here, lane = self.at(run, branch)
        step = whole("step", (state or {}).get("step", 0), 0, NUMBER_AT_MOST)
        own = f"{lane.trace.decoder}-" if len(here.lanes) > 1 and kind != "lanes" else ""
        if kind == "trace":
            return File(f"{own}trace.json.gz", "application/gzip", lane.trace.to_bytes())
        traces = lane.trace if kind == "html" else {each.name: each.trace for each in here.lanes}
        return File(f"{own}step-{step}.html", "text/html", replay_html(traces, title or None, state).encode())

    @endpoint(VIEWER)
    def gif(self, frames: Frames) -> File:
        """Frames that the browser drew, PNGs in base64, as an animation. One at a time: it takes a second or more."""
        if sum(len(frame) if isinstance(frame, str) else 0 for frame in frames) > ANIMATION_AT_MOST:
            raise InputError(f"the frames are larger than {ANIMATION_AT_MOST >> 20} MB together")
        with self._animating:
            return File("run.gif", "image/gif", gif([decoded(frame, "a frame", MOST_FRAME_BYTES) for frame in frames]))
