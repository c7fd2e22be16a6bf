"""A finished decode as its analysis needs it: the states it went through, and who can be asked about it.

A session brings all of it. A trace brings its states and needs the model; where the decoder that made it is known and
makes the same run again, that session stands for it, and otherwise it is a recording without a decoder.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from dard.core.errors import InputError
from dard.core.prompt import MASK_TEXT
from dard.core.settings import Settings
from dard.core.state import UNMASKED, DecodeState
from dard.decoders import DECODERS
from dard.decoding.session import Session
from dard.models.base import Model, check_is_model
from dard.trace import Step, Trace
from dard.trace.records import Start


@dataclass(frozen=True)
class Finished:
    """`states` are those before the first step and after each; `session` is None for a recording."""

    model: Model
    trace: Trace
    states: Sequence[DecodeState]
    settings: Settings
    session: Session | None

    @property
    def template(self) -> bool:
        """Whether the region is what was asked, so that there cannot be more room."""
        trace = self.trace
        return any(trace.fixed) or not trace.prompt_tokens or MASK_TEXT in trace.prompt


def finished(run: Session | Trace, model: Model | None = None) -> Finished:
    """A decode that has ended, or a sentence about why it cannot be looked into."""
    if isinstance(run, Session):
        if model is not None and model is not run.model:
            raise InputError("a session has a model of its own; leave the model out")
        return of_session(run)
    if not isinstance(run, Trace):
        raise InputError(f"a Session or a Trace can be diagnosed, not a {type(run).__name__}")
    if model is None or isinstance(model, str):
        raise InputError("a diagnosis makes passes of the model that decoded: dard.diagnose(trace, model)")
    check_is_model(model)
    check_ended(run)
    check_model(run, model)
    return of_session(again) if (again := made_again(run, model)) else of_recording(run, model)


def of_session(session: Session) -> Finished:
    trace = session.trace
    check_ended(trace)
    states = [session.at(number).state for number in range(len(session.steps) + 1)]
    return Finished(session.model, trace, states, session.settings, session)


def check_ended(trace: Trace) -> None:
    if not trace.steps and UNMASKED * len(trace.states) == trace.states:
        raise InputError("this decode has no steps: everything in it was put there by hand, and nothing could lose it")
    if not trace.finished or not trace.steps:
        left = sum(state != UNMASKED for state in trace.states)
        raise InputError(f"this decode has not ended: {left} positions are not decided after {trace.num_steps} steps")


def check_model(trace: Trace, model: Model) -> None:
    """Refuse another model than the one that a trace is of, as far as the trace can tell; words that it lacks are the
    model's."""
    seen = {*trace.prompt_tokens, *trace.start.tokens, *(token for step in trace.steps for token in step.tokens)}
    said = f"the trace is of another model than {model.name!r}"
    if model.mask_id != trace.mask_id:
        raise InputError(f"{said}: its mask is token {trace.mask_id}, the model's is {model.mask_id}")
    if (largest := max(seen)) >= model.vocab_size:
        raise InputError(f"{said}: it holds token {largest}, and the model's ids go to {model.vocab_size - 1}")
    known = {token for token in seen - {trace.mask_id} if trace.word(token) != f"<{token}>"}
    for token in sorted(known):
        told, knows = trace.word(token), model.token_text(token)
        if told.strip() != knows.strip():
            raise InputError(f"{said}: token {token} is {told[:40]!r} there and {knows[:40]!r} in the model")
    trace.token_text |= {token: model.token_text(token) for token in sorted(seen - known)}


def made_again(trace: Trace, model: Model) -> Session | None:
    """The session of a trace, if its decoder is known here and makes the same steps again."""
    if trace.decoder not in DECODERS or trace.start.edited:
        return None
    settings: dict[str, Any] = dict(trace.settings)
    ids = trace.prompt_tokens + (trace.start.tokens if any(trace.fixed) else [])
    for prompt in (trace.prompt, ids):
        with suppress(InputError):
            session = Session(model, prompt, trace.decoder, **settings)
            if (list(session.state.prompt), list(session.state.tokens)) == (trace.prompt_tokens, trace.start.tokens):
                pairs = zip(session.walk(), trace.steps, strict=False)
                same = all((now.tokens, now.states) == (then.tokens, then.states) for now, then in pairs)
                return session if same and session.finished else None
    return None


def of_recording(trace: Trace, model: Model) -> Finished:
    length = len(trace.start.tokens)
    size = getattr(model, "block_size", None)
    own = trace.settings.get("block_length") if trace.decoder in DECODERS else None
    block = size or own or max(step.block[1] - step.block[0] for step in trace.steps)
    start = DecodeState(
        prompt=tuple(trace.prompt_tokens),
        tokens=tuple(trace.start.tokens),
        states=trace.start.states,
        fixed=tuple(trace.fixed),
        confidence=(0.0,) * length,
        reliability=(0.0,) * length,
        block_length=min(int(block), length),
        prompt_overlap=len(trace.prompt_tokens) % size if size else 0,
    )
    moments: list[Start | Step] = [trace.start, *trace.steps]
    states = [
        replace(start, tokens=tuple(moment.tokens), states=moment.states, step=number).at_open_block()
        for number, moment in enumerate(moments)
    ]
    eos = trace.settings.get("eos")
    return Finished(model, trace, states, Settings(eos=eos if eos in ("never", "last") else "free"), None)
