"""What programs and assistants ask: whole decodes, single steps, and why. Each is a named endpoint and a tool.

Promises: an answer is one JSON object, or a list of sentences.
Does not know: the page; a run that a program steps through is one of the same studio's.
"""

from __future__ import annotations

from dataclasses import asdict

from dard.analysis.causes import at_step, some_causes
from dard.core.release import __version__
from dard.decoding.session import COMPARED
from dard.models.memory import memory_report
from dard.tasks.judge import CUT_OFF
from dard.trace import Trace
from dard.trace.annotations import verdict
from dard.trace.diagnosis_words import diagnosis_sentences
from dard.trace.words import causes_note, summary, words_of
from visual.payload import sentence
from visual.server.endpoints import PROGRAMS, endpoint
from visual.server.passes import SCHEDULERS, call, finish, on_zero_gpu
from visual.server.requests import (
    DecodeRequest,
    ProgramCauses,
    ProgramCompare,
    ProgramDiagnose,
    ProgramExplain,
    ProgramStep,
    whole,
)
from visual.server.runs import Lane
from visual.server.searches import Search
from visual.server.studio import Studio


class Programs:
    """A studio as programs see it. The first lines of these methods are what they are told of them."""

    def __init__(self, studio: Studio) -> None:
        self.studio = studio

    @endpoint(PROGRAMS)
    def health(self) -> dict:
        """What is loaded, on which device, and how much memory it takes; how many positions are decoded at most; on a
        Space, what its self-test found."""
        models, runs = self.studio.models, self.studio.runs
        return {
            "version": __version__,
            "models": {
                name: asdict(memory_report(models.loaded[name])) if name in models.loaded else "not loaded yet"
                for name in models.names
            },
            "positions": self.studio.positions,
            "runs": len(runs.kept),
            "under_way": sum(SCHEDULERS[name].jobs for name in models.names),
            "borrows_gpu": on_zero_gpu(),
            "self_test": dict(models.checked),
        }

    @endpoint(PROGRAMS, queue=True, needs_model=True)
    def decode(self, request: DecodeRequest) -> dict:
        """Decode a prompt or template to the end. Returns the trace as JSON (docs/trace.md tells its fields)."""
        return self.studio.decode(request).as_dict()

    @endpoint(PROGRAMS, queue=True, needs_model=True)
    def compare(self, request: ProgramCompare) -> dict:
        """Decode the same prompt with several decoders. Returns their traces by name."""
        settings, shared = request.settings or {}, {"prompt": request.prompt, "model": request.model}
        sessions = {
            name: self.studio.session(
                DecodeRequest.of({**shared, "decoder": name, "settings": settings.get(str(name))})
            )
            for name in request.decoders or COMPARED
        }
        finish(self.studio.models.named(request.model), list(sessions.values()))
        return {name: session.trace.as_dict() for name, session in sessions.items()}

    @endpoint(PROGRAMS, queue=True, needs_model=True)
    def step(self, request: ProgramStep) -> dict:
        """One step. Without `run` it begins a decode; pass the returned `run` to go on."""
        if request.run:
            run = self.studio.runs.find(request.run)
        else:
            run = self.studio.new_run(request.model, Lane("original", self.studio.session(request)))
        session = run.lanes[0].live("to go on")
        if session.finished:
            session.step()  # says that it is finished, and how to go on
        with run.working():
            finish(run.model, [session], 1)
        return {
            "run": run.key,
            "step": session.steps[-1].as_dict(packed=False),
            "text": session.trace.text,
            "finished": session.finished,
            "right": verdict(session.trace, session.trace.steps[-1]),
        }

    @endpoint(PROGRAMS, queue=True, needs_model=True)
    def explain(self, request: ProgramExplain) -> list[str]:
        """Decode a prompt and say in sentences what happened and why: of every change, or only of those in a step (from
        1) or at a position (from 0). With both, why that position was as it was after that step."""
        position = None if request.position == -1 else request.position
        return told(self.studio.decode(request), request.step or None, position)

    @endpoint(PROGRAMS, queue=True, needs_model=True)
    def causes(self, request: ProgramCauses) -> dict:
        """Who made the verdict of a step (from 1) on a position: what it would have been without each token."""
        name, session = self.studio.models.named(request.model), self.studio.session(request)
        finish(name, [session], request.step)
        before = at_step(session, request.step)
        causes = call(name, some_causes, before, request.position, request.seconds, None)
        trace, answer = session.trace, asdict(causes)
        trace.causes = [causes]
        trace.learn(session.model.token_text)
        by = answer.pop("path")  # Gradio's client takes whatever has a "path" for a file, and wants to download it
        return {**answer, "by": by, "note": causes_note(trace, causes)}

    @endpoint(PROGRAMS, queue=True, needs_model=True)
    def diagnose(self, request: ProgramDiagnose) -> dict:
        """Why is this answer wrong? Decode a prompt and say where its answer was lost, by which tokens, and what would
        have saved it, in sentences and as a record. `expected` is a text that a right answer contains, or a /pattern/;
        without it the prompt's own task judges."""
        name, session = self.studio.models.named(request.model), self.studio.session(request)
        finish(name, [session])
        known, words = Search(name, session, request.expected).go_on(request.seconds)
        trace = session.trace
        trace.token_text |= words
        record = known.as_dict()
        for each in record["verdicts"]:
            each["by"] = each.pop("path")  # as for causes
        sentences = diagnosis_sentences(trace, known)
        return {"text": trace.text, "sentences": [sentence(each) for each in sentences], "diagnosis": record}


def told(trace: Trace, step: int | None = None, position: int | None = None) -> list[str]:
    """What happened in a trace and why, a sentence each, as far as it concerns a step (from 1) or a position."""
    chosen = trace.steps if step is None else [trace.steps[whole("step", step, 1, trace.num_steps) - 1]]
    if position is not None:
        whole("position", position, 0, len(trace.fixed) - 1)
    if position is not None and step is not None:
        return [f"Step {step}, position {position}: {trace.why(chosen[0], position)}"]
    sentences = []
    for each in chosen:
        if position is None:
            sentences.append(summary(each, trace.about, words_of(trace)))
        reasons = each.why.items()
        sentences += [f"Step {each.index}, position {i}: {why}" for i, why in reasons if position in (None, i)]
    sentences.append(f"The text is: {trace.text}")
    judged = {True: "right", False: "wrong", CUT_OFF: "cut off: the region ends before it does"}
    if trace.steps and (right := verdict(trace, trace.steps[-1])) is not None:
        sentences.append(f"The answer is {judged[right]}.")
    return [sentence(each) for each in sentences]
