"""What the page and programs can ask for: start a decode, go on, branch, look, export. No Gradio in here.

Everything that arrives is hostile until proven otherwise: types, lengths and ranges are checked, and bad input raises
`InputError` with one sentence. Runs live in memory under unguessable names, so one visitor never meets another's; the
oldest are forgotten when they are too many or too large together, or nobody asks for them. Every answer is plain JSON.
"""

from __future__ import annotations

import base64
import binascii
import json
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import dard
from dard.cause import at_step, attention, some_causes
from dard.decoders import DECODERS, make_settings
from dard.folders import assets
from dard.metrics import measure
from dard.models import with_thinking
from dard.models.registry import find_card
from dard.session import COMPARED, Session
from dard.settings import Settings
from dard.state import STATE_NAMES, InputError, UnknownWords
from dard.sweep import ONE_BY_ONE
from dard.tasks import TASKS
from dard.tasks.judge import judge
from dard.trace import Trace, Verdict
from dard.words import Words, causes_note, summary
from visual.images import FITS, TOGETHER_AT_MOST, UPLOAD_AT_MOST, Images
from visual.passes import CONDUCTORS, LOADED, find, finish, on_zero_gpu, passes, see
from visual.payload import (
    graph,
    header,
    life,
    packed_weights,
    payload,
    sentence,
    shown,
    step_payload,
    verdict_payload,
)

if TYPE_CHECKING:
    from dard.models import Model

GALLERY, LEARN = assets("gallery"), assets("learn")
RUNS_KEPT = 200
CELLS_KEPT = 2_000_000  # positions × steps of all of them
RUN_AT_MOST = 3 * 3600  # seconds after which one that nobody asks for is forgotten
ANIMATION_AT_MOST = 64 << 20  # characters of all its frames
BRANCHES_AT_MOST = 20
PROMPT_AT_MOST = 4000  # characters
REGION_AT_MOST = 256  # positions decoded from the page; the library has no such limit
COMPARED_AT_MOST = 5
WORDS_AT_MOST = 5000  # of a model's list; longer ones are no use to a reader
WORD_AT_MOST = 100  # characters
EDIT = ("step", "position", "token", "state", "hide", "check")
CAUSES_SECONDS = 0.5  # of one answer about causes; the page asks until it knows them all, or is told to stop
CAUSES_KEPT = 1000  # of a lane
EXPLAINED_AT_MOST = 60  # seconds
STEPS_AT_ONCE = 64  # of those that are asked for again


class Forgotten(InputError):
    """A run that is not there, or not any more: whoever knows how it came about can make it again."""


@dataclass
class Lane:
    """One line of a run: the original, a branch, or a trace that was opened from a file (then without a session)."""

    name: str
    session: Session | None = None
    opened: Trace | None = None
    causes: dict[tuple[int, int], Verdict] = field(default_factory=dict)  # by step and position, as they were asked for

    @property
    def trace(self) -> Trace:
        if self.session is not None:
            trace = self.session.trace
            trace.causes = list(self.causes.values())
            return trace
        assert self.opened is not None
        return self.opened

    @property
    def cells(self) -> int:
        """Positions × steps."""
        if self.session is not None:
            return len(self.session.steps) * len(self.session.state.tokens)
        return len(self.trace.steps) * len(self.trace.tokens)

    def known_before(self, step: int) -> dict[tuple[int, int], Verdict]:
        """The causes that a branch shares: those of the steps before one."""
        return {key: verdict for key, verdict in self.causes.items() if key[0] < step}

    def at_step(self, step: int, wish: str) -> Session:
        """The session as it stood before it made a step; `wish`: what cannot be had without a model."""
        if self.session is None:
            raise InputError(f"this trace was opened from a file and has no model behind it; decode its prompt {wish}")
        return at_step(self.session, step)


@dataclass
class Run:
    """What one visitor is looking at."""

    key: str
    model: str = ""  # the name under which the page offers it
    lanes: list[Lane] = field(default_factory=list)
    reference: Trace | None = None  # one token per step, for the table of a comparison
    lock: threading.Lock = field(default_factory=threading.Lock)
    stopping: threading.Event = field(default_factory=threading.Event)
    touched: float = field(default_factory=time.monotonic)

    @property
    def cells(self) -> int:
        """How large it is."""
        return sum(lane.cells for lane in self.lanes)

    @contextmanager
    def working(self) -> Iterator[None]:
        """Only one computation at a time; whoever comes second is told."""
        if not self.lock.acquire(blocking=False):
            raise InputError("this run is being computed already; stop it first")
        self.stopping.clear()
        try:
            yield
        finally:
            self.touched = time.monotonic()
            self.lock.release()

    def branches(self) -> list[dict[str, Any]]:
        return [{"id": number, "name": lane.name} for number, lane in enumerate(self.lanes)]


class Arrival:
    """A model on its way, and how many wait for it."""

    def __init__(self, name: str) -> None:
        card = find_card(name)
        size = f" ({card.parameters} parameters, {card.memory})" if card else ""
        self.name = name
        self.text = f"Loading {shown(name)}{size}; the first time this takes a while …"
        self.waiting = 0
        self.over = threading.Event()
        self.error: Exception | None = None

    def tell(self, doing: str, done: int, total: int) -> None:
        if doing == "fetching" and not self.waiting:
            raise InputError(f"nobody waits for model {shown(self.name)} any more; what has been fetched of it is kept")
        of = f" of {total / 1e9:.1f}" if total else ""
        self.text = f"{doing.capitalize()} {shown(self.name)}: {done / 1e9:.1f}{of} GB …"


class Studio:
    """The service behind a page. One instance per server."""

    def __init__(self, models: tuple[str, ...] = ("embedded",), **loading: Any) -> None:
        """`loading` goes to `dard.load_model`: device, dtype, device_map, quantise, chat, …"""
        self.models = models
        self.loading = loading
        self._images = Images()
        self.missing: dict[str, str] = {}  # models that cannot be had any more, and why
        self._loaded: dict[str, Model] = {}
        self._runs: dict[str, Run] = {}
        self._lock = threading.Lock()
        self._loading = threading.Lock()
        self._animating = threading.Lock()
        self._arrivals: dict[str, Arrival] = {}
        self._left: deque[str] = deque(maxlen=100)  # questions of visitors who no longer wait for a model

    def model(self, name: str, progress: Callable[[str, int, int], None] | None = None) -> Model:
        """A model by name, loaded once. Visitors choose among the names the server was started with."""
        if name not in self.models:
            raise InputError(f"unknown model {shown(name)!r}; this page offers {', '.join(self.models)}")
        if name in self.missing:
            raise InputError(self.missing[name])
        with self._loading:
            if name not in self._loaded:
                from dard.models import load_model

                known = ("attention", "shift") if find_card(name) else ()  # the registry says how its own were trained
                loading = {key: value for key, value in self.loading.items() if key not in known}
                self._loaded[name] = LOADED[name] = load_model(name, progress=progress, **loading)
            return self._loaded[name]

    def defaults(self, name: str) -> dict[str, dict[str, Any]] | None:
        """For every decoder the settings it uses on a model where nothing else is asked for: the model's own, then the
        decoder's. None if only the checkpoint can tell, and it has not been loaded."""
        source = self._loaded.get(name) or find_card(name)
        if source is None:
            return None
        return {decoder: make_settings(decoder, {}, source).as_dict() for decoder in DECODERS}

    def waiting(self, data: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """What to tell a visitor while a model is loaded for the first time; nothing if it is there already.

        Who waits may leave, by `stop` with the name of the question; when the last one has left, fetching ends.
        """
        name, question = text(data, "model", 300, self.models[0]), text(data, "question", 100, "")
        if name not in self.models or name in self._loaded:
            return
        with self._lock:
            new = name not in self._arrivals
            arrival = self._arrivals.setdefault(name, Arrival(name))
            arrival.waiting += 1
        if new:
            threading.Thread(target=self._arrive, args=(arrival,), daemon=True).start()
        try:
            while not arrival.over.is_set():
                yield {"kind": "waiting", "text": arrival.text, "loading": question}
                arrival.over.wait(0.5)
                if question in self._left:
                    self._left.remove(question)
                    raise InputError(f"loading {shown(name)} was left; what has been fetched of it is kept")
        finally:
            with self._lock:
                arrival.waiting -= 1
        if arrival.error is not None:
            raise arrival.error

    def _arrive(self, arrival: Arrival) -> None:
        try:
            self.model(arrival.name, arrival.tell)
        except Exception as error:  # told to all who wait
            arrival.error = error
        finally:
            with self._lock:
                del self._arrivals[arrival.name]
            arrival.over.set()

    def health(self) -> dict[str, Any]:
        """What is loaded and how it is doing."""
        from dard.models.memory import memory_report

        return {
            "version": dard.__version__,
            "models": {
                name: asdict(memory_report(self._loaded[name])) if name in self._loaded else "not loaded yet"
                for name in self.models
            },
            "runs": len(self._runs),
            "under_way": sum(CONDUCTORS[name].rides for name in self.models),
            "borrows_gpu": on_zero_gpu(),
        }

    # What the page asks for.

    def open_image(self, content: bytes) -> dict[str, Any]:
        """Keep a picture for prompts to come; the answer names it and holds a small copy."""
        return {"kind": "image", **self._images.keep(content)}

    def knows(self, data: dict[str, Any]) -> dict[str, Any]:
        """What a model that has a closed list of words knows: these words, and the worlds that use no others, each with
        a prompt it was not trained on. Nothing of other models, and of those that are not loaded yet."""
        model = self._loaded.get(text(data, "model", 300, self.models[0]))
        words = list(getattr(model, "words", ()))
        if len(words) > WORDS_AT_MOST:
            words = []
        worlds = [task for task in TASKS.values() if task.vocabulary() <= set(words)]
        items = [(task.title, task.test_items(1)[0]) for task in worlds]
        return {
            "kind": "knows",
            "words": [word for word in words if len(word) <= WORD_AT_MOST],
            "worlds": [{"title": title, "prompt": i.prompt, "gen_length": i.gen_length} for title, i in items],
        }

    def check(self, data: dict[str, Any]) -> dict[str, Any]:
        """What would come of asking for a run: how many tokens its lanes have, or the sentence that refuses it and the
        words that are not known. Nothing that takes time: no word about a model not loaded yet, or about a picture."""
        model = self._loaded.get(text(data, "model", 300, self.models[0]))
        if model is None or data.get("image") is not None:
            return {"kind": "checked"}
        reply: dict[str, Any] = {"kind": "checked", "limit": model.max_length, "unknown": ()}
        try:
            sessions = self._sessions(data) if "lanes" in data else [self._session(data)]
        except InputError as error:
            return reply | {"text": str(error), "unknown": error.words if isinstance(error, UnknownWords) else ()}
        return reply | {"sizes": [(len(each.state.prompt), len(each.state.tokens)) for each in sessions]}

    def recorded(self, data: dict[str, Any]) -> dict[str, Any]:
        """A gallery case as it was recorded, for a page that does not offer the case's model."""
        name = text(data, "name", 100)
        for path in sorted(GALLERY.glob("*.json")):
            if json.loads(path.read_text(encoding="utf-8"))["name"] == name:
                return self.open_trace(path.with_suffix(".trace.json.gz").read_bytes(), name)
        raise InputError(f"there is no gallery case {shown(name)!r}")

    def start(self, data: dict[str, Any]) -> dict[str, Any]:
        """A new run that has made no step yet; with `edits`, the branch they lead to, each edit on the one before."""
        edits = data.get("edits") or []
        if not isinstance(edits, list) or len(edits) >= BRANCHES_AT_MOST or not all(isinstance(e, dict) for e in edits):
            raise InputError(f"edits must be a list of at most {BRANCHES_AT_MOST - 1} objects")
        session = self._session(data)
        run = self._new_run(data)
        run.lanes.append(Lane("original", session))
        for number, edit in enumerate(edits):
            finish(run.model, [session], max(0, whole(edit, "step", 0, 100_000) - len(session.steps)))
            self.branch({"run": run.key, "branch": number, **pick(edit, *EDIT)})
            session = run.lanes[-1].session or session
        return self._view(run, len(edits))

    def advance(self, data: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Go on by `steps` steps (all that are left if it is absent), one answer per step; the last says how many."""
        run, number = self._find(data)
        session = run.lanes[number].session
        if session is None:
            raise InputError("this trace was opened from a file and has no model behind it; decode its prompt to go on")
        left = whole(data, "steps", 1, 100_000) if "steps" in data else None
        yield from self._go_on(run, [number], left)

    def steps(self, data: dict[str, Any]) -> dict[str, Any]:
        """The steps of a lane after step `since`, for a browser that did not hear of them; at most so many at once."""
        run, number = self._find(data)
        since = whole(data, "since", 0, 100_000)
        trace = run.lanes[number].trace
        found = [{"branch": number, "step": step_payload(trace, step)} for step in trace.steps[since:][:STEPS_AT_ONCE]]
        return {"kind": "steps", "run": run.key, "steps": found}

    def stop(self, data: dict[str, Any]) -> dict[str, Any]:
        """Stop a run after the step it is in; or no longer wait for a model, whose question is named in `loading`."""
        if "loading" in data:
            self._left.append(text(data, "loading", 100))
            return {"kind": "stopped", "run": ""}
        run, _ = self._find(data)
        run.stopping.set()
        return {"kind": "stopped", "run": run.key}

    def _lanes(self, data: dict[str, Any]) -> list[Session | Lane]:
        """What shall be compared: a session per decoder, all on one prompt, and a lane per trace from a file."""
        lanes = data.get("lanes")
        if not isinstance(lanes, list) or not 1 <= len(lanes) <= COMPARED_AT_MOST:
            raise InputError(f"lanes must be a list of 1 to {COMPARED_AT_MOST} decoders")
        if not all(isinstance(lane, dict) for lane in lanes):
            raise InputError("each of the lanes must be an object with a decoder and its settings")
        asked = pick(data, "prompt", "model", "images", "fit", "think")
        lanes = [pick(lane, "opened") or pick(lane, "decoder", "settings") for lane in lanes]
        found = [self._opened(lane) if "opened" in lane else self._session({**asked, **lane}) for lane in lanes]
        sessions = [each for each in found if isinstance(each, Session)]
        if len({session.state.tokens for session in sessions}) > 1:
            raise InputError("the decoders' regions differ in length; give all of them the same gen_length")
        return found

    def _sessions(self, data: dict[str, Any]) -> list[Session]:
        """Those that decode."""
        return [each for each in self._lanes(data) if isinstance(each, Session)]

    def compare_lanes(self, data: dict[str, Any]) -> dict[str, Any]:
        """A new run with one lane per decoder, all at their start, and per trace from a file: {"opened": its run}."""
        found = self._lanes(data)
        sessions = [each for each in found if isinstance(each, Session)]
        run = self._new_run(pick(data, "model"))
        names = iter(lane_names(sessions))
        run.lanes = [Lane(next(names), each) if isinstance(each, Session) else each for each in found]
        for lane, name in zip(run.lanes, apart([lane.name for lane in run.lanes]), strict=True):
            lane.name = name
        return {
            "kind": "lanes",
            "run": run.key,
            "defaults": self.defaults(run.model),
            "payloads": [lane_payload(lane) for lane in run.lanes],
            **({} if sessions else {"table": self._table(run)}),
        }

    def _opened(self, lane: dict[str, Any]) -> Lane:
        """A lane of its own around a trace that was opened."""
        run, number = self._find({"run": lane["opened"]})
        return Lane(run.lanes[number].name, opened=run.lanes[number].trace)

    def passes(self, data: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Go on with all lanes in lock-step by `steps` passes, or to the end; the last answer holds the table."""
        run, _ = self._find(data)
        left = whole(data, "steps", 1, 100_000) if "steps" in data else None
        numbers = [number for number, lane in enumerate(run.lanes) if lane.session is not None]
        if not numbers:
            raise InputError("these traces were opened from a file and have no model behind them")
        yield from self._go_on(run, numbers, left, lambda: {"table": self._table(run)})

    def _go_on(
        self, run: Run, numbers: list[int], most: int | None, more: Callable[[], dict[str, Any]] = dict
    ) -> Iterator[dict[str, Any]]:
        """Passes of these lanes until they end or are stopped. A session may be ahead of what was told of it: each
        answer holds all that is new. `more` comes with the last one."""
        sessions = {n: session for n in numbers if (session := run.lanes[n].session) is not None}
        told = {n: len(session.steps) for n, session in sessions.items()}
        with run.working():
            for _ in passes(run.model, list(sessions.values()), most):
                if fresh := steps_of(run, told):
                    told |= {each["branch"]: each["step"]["i"] for each in fresh}
                    yield {"kind": "steps", "run": run.key, "steps": fresh, **company(run.model)}
                if run.stopping.is_set():
                    break
            yield made(run, numbers) | more()

    def _reference(self, run: Run) -> Trace | None:
        """One token per step on the same prompt: a lane that does just that, or a decode made for this, once; None
        where no model is there to make it, or decoding is still going on."""
        sessions = [lane.session for lane in run.lanes if lane.session is not None]
        if not sessions or not all(session.finished for session in sessions):
            return None
        if run.reference is None:
            common = {name: getattr(sessions[0].settings, name) for name in ("gen_length", "block_length")}
            plain = Session(sessions[0].model, sessions[0].prompt, ONE_BY_ONE.decoder, record=False, **common)
            twins = [s for s in sessions if s.finished and (s.decoder, s.settings) == (plain.decoder, plain.settings)]
            if not twins:
                finish(run.model, [plain])
            run.reference = (twins or [plain])[0].trace
        return run.reference

    def _table(self, run: Run) -> list[dict[str, Any]]:
        """What each decoder needed; once all have ended, also how they differ from one token per step, where that is
        the same model on the same prompt."""
        reference = self._reference(run)
        rows = []
        for lane in run.lanes:
            trace = lane.trace
            alike = reference is not None and asked_alike(trace) == asked_alike(reference)
            numbers = asdict(measure(trace, reference if alike else None))
            right = judge(trace.prompt, trace.text) if trace.finished else None
            rows.append(
                {"name": lane.name, **numbers, "right": right, "ended_by": trace.ended_by, "text": sentence(trace.text)}
            )
        return rows

    def branch(self, data: dict[str, Any]) -> dict[str, Any]:
        """A new branch in which a position was edited after a step."""
        run, number = self._find(data)
        session = run.lanes[number].session
        if session is None:
            raise InputError(
                "this trace was opened from a file and has no model behind it; decode its prompt to branch"
            )
        if len(run.lanes) >= BRANCHES_AT_MOST:
            raise InputError(f"this run has {BRANCHES_AT_MOST} branches already; reset, or decode again")
        if "hide" in data:
            return self._hide(run, number, data)
        step, position = whole(data, "step", 0, 100_000), whole(data, "position", 0, 100_000)
        token, state = data.get("token"), data.get("state")
        if isinstance(token, str):
            token = text(data, "token", 200).strip() or None
        elif token is not None and (isinstance(token, bool) or not isinstance(token, int)):
            raise InputError("token must be a word or a token id")
        edited = session.at(step).edit(position, token=token, state=state)
        word = shown(edited.trace.word(edited.state.tokens[position]))
        state_name = STATE_NAMES[edited.state.states[position]]
        known = run.lanes[number].known_before(step + 1)
        run.lanes.append(Lane(f"step {step}: {position} → {word}, {state_name}", edited, causes=known))
        return self._view(run, len(run.lanes) - 1)

    def _hide(self, run: Run, number: int, data: dict[str, Any]) -> dict[str, Any]:
        """A new branch in which a step was made again without a token: from `all`, or from the check of a position."""
        lane, step = run.lanes[number], whole(data, "step", 1, 100_000)
        position = whole(data, "position", -100_000, 100_000)
        from_all = choice(data, "hide", ("all", "check"), "all") == "all"
        check = None if from_all else whole(data, "check", 0, 100_000)
        branch = lane.at_step(step, "to branch").hide(position, check)
        with run.working():
            finish(run.model, [branch], 1)
        word = shown(branch.trace.word(branch.trace.token_before(step, position)))
        name = f"step {step}: {word} hidden from {'all' if check is None else check}"
        run.lanes.append(Lane(name, branch, causes=lane.known_before(step)))
        return self._view(run, len(run.lanes) - 1)

    def causes(self, data: dict[str, Any]) -> dict[str, Any]:
        """The causes of a step's verdict on a position, as far as half a second leads beyond the `tried` that the page
        knows; what has been found is kept with the lane."""
        run, number = self._find(data)
        lane, step, position = run.lanes[number], whole(data, "step", 1, 100_000), whole(data, "position", 0, 100_000)
        tried = whole(data, "tried", 0, 1_000_000)
        known = lane.causes.get((step, position)) or lane.trace.verdict(step, position)
        if known is None or (known.left and tried >= len(known.causes)):
            before = lane.at_step(step, "to see its causes")
            with run.working():
                known = find(run.model, some_causes, before, position, CAUSES_SECONDS, known)
            lane.causes[step, position] = known
            if len(lane.causes) > CAUSES_KEPT:
                del lane.causes[next(iter(lane.causes))]
        return {"kind": "causes", **verdict_payload(lane.trace, known)}

    def attention(self, data: dict[str, Any]) -> dict[str, Any]:
        """Where the queries of a step looked, layer by layer."""
        run, number = self._find(data)
        step = whole(data, "step", 1, 100_000)
        before = run.lanes[number].at_step(step, "to see its attention")
        with run.working():
            weights = find(run.model, attention, before)
        return {"kind": "attention", "step": step, "layers": len(weights), "weights": packed_weights(weights)}

    def show(self, data: dict[str, Any]) -> dict[str, Any]:
        """A lane as it stands."""
        return self._view(*self._find(data))

    def life(self, data: dict[str, Any]) -> dict[str, Any]:
        """One token's whole history, for the inspector."""
        run, number = self._find(data)
        return life(run.lanes[number].trace, whole(data, "position", 0, 100_000))

    def graph(self, data: dict[str, Any]) -> dict[str, Any]:
        """How the positions of one step depend on one another, cell by cell."""
        run, number = self._find(data)
        return graph(run.lanes[number].trace, whole(data, "step", 1, 100_000))

    def open_trace(self, content: bytes, name: str = "from a file") -> dict[str, Any]:
        """A run around a trace file."""
        if len(content) > UPLOAD_AT_MOST:
            raise InputError(f"trace file is larger than {UPLOAD_AT_MOST >> 20} MB")
        trace = Trace.from_bytes(content)
        run = self._new_run({})
        run.lanes.append(Lane(sentence(name), opened=trace))
        return self._view(run, 0)

    def export(self, data: dict[str, Any]) -> tuple[str, str, bytes]:
        """File name, media type and content of what is shown, in the kind asked for. Pictures are the browser's."""
        from visual.export import replay_html

        run, number = self._find(data)
        trace = run.lanes[number].trace
        state = data.get("state") or {}
        step = whole(state, "step", 0, 100_000) if isinstance(state, dict) and "step" in state else 0
        title = text(data, "title", 200, "") or None
        own = f"{trace.decoder}-" if len(run.lanes) > 1 else ""
        makers: dict[str, tuple[str, str, Callable[[], bytes]]] = {
            "trace": (f"{own}trace.json.gz", "application/gzip", trace.to_bytes),
            "html": (f"{own}step-{step}.html", "text/html", lambda: replay_html(trace, title, state).encode()),
            "lanes": (
                f"step-{step}.html",
                "text/html",
                lambda: replay_html({lane.name: lane.trace for lane in run.lanes}, title, state).encode(),
            ),
        }
        name, media, make = makers[choice(data, "kind", tuple(makers), "trace")]
        return name, media, make()

    def gif(self, data: dict[str, Any]) -> bytes:
        """Frames that the browser drew, PNGs in base64, as an animation. One at a time: it takes a second or more."""
        from visual.export import MOST_FRAME_BYTES, MOST_FRAMES, gif

        frames = data.get("frames")
        if not isinstance(frames, list) or len(frames) > MOST_FRAMES:
            raise InputError(f"frames must be a list of at most {MOST_FRAMES} PNGs")
        if sum(len(frame) if isinstance(frame, str) else 0 for frame in frames) > ANIMATION_AT_MOST:
            raise InputError(f"the frames are larger than {ANIMATION_AT_MOST >> 20} MB together")
        with self._animating:
            return gif([decoded(frame, "a frame", MOST_FRAME_BYTES) for frame in frames])

    # What programs ask for.

    def decode(self, prompt: str, decoder: str, model: str, settings: dict[str, Any]) -> Trace:
        """A whole decode."""
        session = self._session({"prompt": prompt, "decoder": decoder, "model": model, "settings": settings})
        finish(model, [session])
        return session.trace

    def compare(
        self, prompt: str, decoders: list[str], model: str, settings: dict[str, dict[str, Any]]
    ) -> dict[str, Trace]:
        """The same prompt with several decoders."""
        if not isinstance(decoders, list) or not 1 <= len(decoders) <= COMPARED_AT_MOST:
            raise InputError(f"decoders must be a list of 1 to {COMPARED_AT_MOST} names of {', '.join(DECODERS)}")
        if not isinstance(settings, dict) or not all(isinstance(own, dict) for own in settings.values()):
            raise InputError("settings must be an object of decoder names, each with an object of settings")
        asked = {"prompt": prompt, "model": model}
        sessions = {
            name: self._session({**asked, "decoder": name, "settings": settings.get(name, {})}) for name in decoders
        }
        finish(model, list(sessions.values()))
        return {name: session.trace for name, session in sessions.items()}

    def step(self, prompt: str, decoder: str, model: str, settings: dict[str, Any], run: str) -> dict[str, Any]:
        """One more step of a run; without a run, the first step of a new one."""
        if run:
            found, number = self._find({"run": run})
        else:
            asked = {"prompt": prompt, "decoder": decoder, "model": model, "settings": settings}
            session = self._session(asked)
            found, number = self._new_run(asked), 0
            found.lanes.append(Lane("original", session))
        going = found.lanes[number].session
        if going is None:
            raise InputError("this trace was opened from a file and has no model behind it; decode its prompt to go on")
        if going.finished:
            going.step()  # says that it is finished, and how to go on
        with found.working():
            finish(found.model, [going], 1)
        entry = going.steps[-1]
        return {
            "run": found.key,
            "step": entry.as_dict(),
            "text": going.trace.text,
            "finished": going.finished,
        }

    def explain(
        self, prompt: str, decoder: str, model: str, settings: dict[str, Any], step: int, position: int, seconds: float
    ) -> dict[str, Any]:
        """The verdict of a step on a position of a decode, with its causes, and what they come to."""
        asked = {"step": step, "position": position}
        whole(asked, "step", 1, 100_000), whole(asked, "position", 0, 100_000)
        if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 < seconds <= EXPLAINED_AT_MOST:
            raise InputError(
                f"seconds = {shown(str(seconds))} is not allowed; it must be above 0, up to {EXPLAINED_AT_MOST}"
            )
        session = self._session({"prompt": prompt, "decoder": decoder, "model": model, "settings": settings})
        finish(model, [session], step)
        verdict = find(model, some_causes, at_step(session, step), position, seconds, None)
        found = asdict(verdict)
        by = found.pop("path")  # Gradio's client takes whatever has a "path" for a file, and wants to download it
        return {**found, "by": by, "note": causes_note(session.trace, verdict)}

    # How it is done.

    def _session(self, data: dict[str, Any]) -> Session:
        prompt = text(data, "prompt", PROMPT_AT_MOST)
        decoder = text(data, "decoder", 40, "dard")
        settings = data.get("settings") or {}
        if not isinstance(settings, dict) or len(settings) > 40:
            raise InputError("settings must be an object of setting names and values")
        make_settings(decoder, settings)  # refuses names that are no settings before they become arguments
        name = text(data, "model", 300, self.models[0])
        model = self.model(name)
        if (images := data.get("images") or []) != []:
            if not isinstance(images, list) or len(images) > TOGETHER_AT_MOST or not all(shown_id(i) for i in images):
                raise InputError(f"images must be a list of at most {TOGETHER_AT_MOST} names of pictures")
            model = self._images.show(name, model, tuple(images), choice(data, "fit", FITS, "crop"), see)
        if data.get("think") is True:
            model = with_thinking(model)
        session = Session(model, prompt, decoder, **settings)
        if len(session.state.tokens) > REGION_AT_MOST:
            raise InputError(
                f"a region of {len(session.state.tokens)} positions is too long for this page; "
                f"it decodes at most {REGION_AT_MOST}"
            )
        return session

    def _new_run(self, data: dict[str, Any]) -> Run:
        run = Run(secrets.token_urlsafe(18), text(data, "model", 300, self.models[0]))
        with self._lock:
            self._runs[run.key] = run
            self._forget()
        return run

    def _forget(self) -> None:
        """Runs that have no place any more, those first that nobody has touched for longest; what is being computed
        stays."""
        cells, oldest = 0, time.monotonic() - RUN_AT_MOST
        runs = sorted(self._runs.values(), key=lambda run: run.touched, reverse=True)
        for number, run in enumerate(runs):
            full = number >= RUNS_KEPT or cells + run.cells > CELLS_KEPT
            if (full or run.touched < oldest) and not run.lock.locked():
                del self._runs[run.key]
            else:
                cells += run.cells

    def _find(self, data: dict[str, Any]) -> tuple[Run, int]:
        with self._lock:
            run = self._runs.get(text(data, "run", 100))
            if run is not None:
                run.touched = time.monotonic()
        if run is None:
            raise Forgotten("the server has forgotten this run; decode the prompt again")
        return run, whole(data, "branch", 0, max(len(run.lanes) - 1, 0)) if "branch" in data else 0

    def _view(self, run: Run, number: int) -> dict[str, Any]:
        lane = run.lanes[number]
        trace = lane.trace
        return {
            "kind": "view",
            "run": run.key,
            "branch": number,
            "branches": run.branches(),
            "defaults": self.defaults(run.model),
            "live": lane.session is not None,
            "finished": trace.finished,
            "payload": payload(trace) if trace.steps else {**header(trace), "steps": []},
        }


def steps_of(run: Run, since: dict[int, int]) -> list[dict[str, Any]]:
    """The steps of these lanes after so many. They are numbered: whoever misses one can ask for it again."""
    traces = {number: run.lanes[number].trace for number in since}
    return [
        {"branch": number, "step": step_payload(trace, step)}
        for number, trace in traces.items()
        for step in trace.steps[since[number] :]
    ]


def company(model: str) -> dict[str, int]:
    """How many others share the passes of a model, and how many milliseconds the last one was waited for."""
    conductor = CONDUCTORS[model]
    return {"others": max(0, conductor.rides - 1), "waited": round(1000 * conductor.waited)}


def made(run: Run, numbers: Iterable[int]) -> dict[str, Any]:
    """How many steps these lanes have and whether they are finished."""
    traces = [(number, run.lanes[number].trace) for number in numbers]
    lanes = [{"branch": number, "steps": len(trace.steps), "finished": trace.finished} for number, trace in traces]
    return {"kind": "made", "run": run.key, "lanes": lanes}


def lane_names(sessions: list[Session]) -> list[str]:
    """A name per session: its decoder, and what sets it apart where a decoder comes twice."""
    names: list[str] = []
    for session in sessions:
        twins = [other for other in sessions if other.decoder is session.decoder]
        own = session.settings.as_dict()
        differs = [k for k in own if any(other.settings.as_dict()[k] != own[k] for other in twins)]
        allowed = session.settings.allowed()
        names.append(" ".join([session.decoder.title, *(f"{allowed[k].symbol or k} {own[k]}" for k in differs)]))
    return names


def apart(names: list[str]) -> list[str]:
    """Names of lanes, of which none comes twice.

    >>> apart(["DARD", "DARD", "mine"])
    ['DARD', 'DARD (2)', 'mine']
    """
    return [name if name not in names[:n] else f"{name} ({n + 1})" for n, name in enumerate(names)]


def lane_payload(lane: Lane) -> dict[str, Any]:
    """A lane of a comparison as it begins: nothing decoded yet, or the whole of a trace that was opened."""
    if lane.opened is not None:
        return {**payload(lane.opened, lane.name), "opened": True}
    return {**header(lane.trace, lane.name), "steps": []}


def asked_alike(trace: Trace) -> tuple[Any, ...]:
    """What two traces have in common whose tokens can be counted against each other."""
    return trace.model, trace.prompt_tokens, trace.start.tokens


def said(trace: Trace, step: int | None = None, position: int | None = None) -> list[str]:
    """What happened in a trace and why, a sentence each, as far as it concerns a step (from 1) or a position."""
    chosen = trace.steps if step is None else [trace.steps[whole({"step": step}, "step", 1, trace.num_steps) - 1]]
    if position is not None:
        whole({"position": position}, "position", 0, len(trace.fixed) - 1)
    if position is not None and step is not None:
        return [f"Step {step}, position {position}: {trace.why(chosen[0], position)}"]
    found = []
    for each in chosen:
        if position is None:
            found.append(summary(each, trace.about, Words(trace.word)))
        told = each.why.items()
        found += [f"Step {each.index}, position {i}: {why}" for i, why in told if position in (None, i)]
    return [sentence(each) for each in [*found, f"The text is: {trace.text}"]]


def pick(data: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: data[name] for name in names if name in data}


def page_config(studio: Studio) -> dict[str, Any]:
    """What the page is built from: the settings of every decoder, the models and the gallery."""
    return {
        "models": list(studio.models),
        "cards": {name: card_words(name) for name in studio.models},
        "decoders": [
            {
                "name": decoder.name,
                "title": decoder.title,
                "settings": [describe_setting(name, decoder.Settings) for name in decoder.Settings.allowed()],
                "presets": decoder.presets,
            }
            for decoder in DECODERS.values()
        ],
        "defaults": {name: studio.defaults(name) for name in studio.models},
        "gallery": gallery(),
        "compared": list(COMPARED),
        "limits": {
            "prompt": PROMPT_AT_MOST,
            "region": REGION_AT_MOST,
            "compared": COMPARED_AT_MOST,
            "upload": UPLOAD_AT_MOST,
            "images": TOGETHER_AT_MOST,
        },
    }


def card_words(name: str) -> dict[str, Any]:
    """What the page says of a model, and whether it takes pictures."""
    card = find_card(name)
    if card is None:
        from dard.models.families import sees_pictures

        seeing = sees_pictures(name)  # those are also told how to think
        return {"about": "a folder or hub repository", "images": seeing, "think": seeing}
    about = f"{card.title}; {card.parameters} parameters, {card.memory}; {card.licence}; {card.origin}"
    return {"about": about, "images": card.images, "think": card.think}


def describe_setting(name: str, kind: Any) -> dict[str, Any]:
    allowed = kind.allowed()[name]
    return {
        "name": name,
        "own": name not in Settings.allowed(),
        "symbol": allowed.symbol,
        "kind": allowed.kind.__name__,
        "default": kind.__dataclass_fields__[name].default,
        "low": allowed.low,
        "high": allowed.high,
        "choices": list(allowed.choices),
        "optional": allowed.optional,
        "below": allowed.below,
        "help": allowed.help,
        "allowed": allowed.describe(),
    }


def gallery() -> list[dict[str, Any]]:
    """The cases of assets/gallery, in the order of their file names, with what Compare shows of each. All happen on the
    embedded model."""
    paths = sorted(GALLERY.glob("*.json"))
    cases = [{"model": "embedded", **json.loads(path.read_text(encoding="utf-8"))} for path in paths]
    return [{**case, "lanes": lanes_of(case)} for case in cases]


def lanes_of(case: dict[str, Any]) -> list[dict[str, Any]]:
    """The decoders of a comparison on a case's prompt: as the case itself is decoded, as its claims about others say,
    or with the same region."""
    told = [case, *(claim["versus"] for claim in case["shows"] if "versus" in claim)]
    region = pick(case["settings"], "gen_length", "block_length")
    own = COMPARED if case["decoder"] in COMPARED else ()
    names = list(dict.fromkeys([*own, *(one["decoder"] for one in told), *COMPARED]))
    found = {
        name: next((pick(one, "decoder", "settings") for one in told if one["decoder"] == name), None)
        for name in names[:COMPARED_AT_MOST]
    }
    return [lane or {"decoder": name, "settings": region} for name, lane in found.items()]


def opening(studio: Studio) -> dict[str, Any] | None:
    """The first gallery case as a whole, and what others make of it, so that the page opens without asking; None where
    that would mean loading a large model."""
    cases, name = gallery(), studio.models[0]
    if not cases or not (name == "embedded" or name in studio._loaded):
        return None
    case = cases[0]
    mine = studio.decode(case["prompt"], case["decoder"], name, case["settings"])
    others = [
        other_words(studio.decode(case["prompt"], lane["decoder"], name, lane["settings"]), lane["settings"])
        for lane in case["lanes"]
        if lane["decoder"] != case["decoder"]
    ]
    opened = {"payload": payload(mine), "others": others}
    return json.loads(json.dumps(opened))  # what is written into the page has text as keys


def other_words(trace: Trace, asked: dict[str, Any]) -> dict[str, Any]:
    """What another decoder made of the opening's prompt."""
    free = [i for i, given in enumerate(trace.fixed) if not given]
    known = DECODERS[trace.decoder].Settings.allowed()
    return {
        "name": trace.about.title or trace.decoder,
        "setting": " ".join(f"{known[name].symbol or name} = {trace.settings[name]}" for name in asked),
        "answer": sentence(" ".join(trace.word(trace.steps[-1].tokens[i]) for i in free), 200),
        "right": judge(trace.prompt, trace.text),
        "passes": trace.num_steps,
    }


def lessons() -> list[dict[str, Any]]:
    """The lessons of the guided tour, each with its prompt written out."""
    prompts = json.loads((LEARN / "prompts.json").read_text(encoding="utf-8"))
    found = json.loads((LEARN / "lessons.json").read_text(encoding="utf-8"))
    for lesson in found:
        lesson["show"]["prompt"] = prompts[lesson["show"].get("prompt", "city")]
    return found


def text(data: dict[str, Any], name: str, at_most: int, default: str | None = None) -> str:
    """A string from what a client sent."""
    value = data.get(name, default)
    if not isinstance(value, str):
        raise InputError(f"{name} must be text")
    if len(value) > at_most:
        raise InputError(f"{name} is {len(value)} characters long; at most {at_most} are allowed")
    return value


def shown_id(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= 100


def decoded(value: Any, what: str, at_most: int) -> bytes:
    """Bytes that were sent as text."""
    if not isinstance(value, str) or len(value) > at_most * 4 // 3 + 4:
        raise InputError(f"{what} is missing or larger than {at_most >> 20} MB")
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        raise InputError(f"{what} did not arrive whole; try again") from None


def file(name: str, media: str, content: bytes) -> dict[str, Any]:
    """A file on its way to the browser."""
    return {"kind": "file", "name": name, "media": media, "data": base64.b64encode(content).decode()}


def whole(data: dict[str, Any], name: str, low: int, high: int) -> int:
    """A whole number from what a client sent."""
    value = data.get(name)
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise InputError(
            f"{name} = {shown(str(value))} is not allowed; {name} must be a whole number from {low} to {high}"
        )
    return value


def choice(data: dict[str, Any], name: str, allowed: tuple[str, ...], default: str) -> str:
    value = data.get(name, default)
    if not isinstance(value, str) or value not in allowed:
        raise InputError(f"{name} = {shown(str(value))} is not allowed; {name} must be one of {', '.join(allowed)}")
    return value
