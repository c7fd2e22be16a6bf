"""A decode that is taken one step at a time, back, and onto branches.

A `Session` only ever appends to or drops from its own list of states. `at` and `edit` give new sessions that share
the past, so an original is never changed by what is tried on a branch. `cancel` may be called from another thread.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from dard.core.errors import InputError, UnknownWords
from dard.core.prompt import initial_state
from dard.core.state import CANDIDATE, MASKED, STATE_NAMES, UNMASKED, DecodeState
from dard.decoders import Decoder, get_decoder, make_settings
from dard.decoding import loop
from dard.models.base import NO_MASK, Model, check_is_model, check_needs
from dard.tasks.judge import laid_out
from dard.trace import Step, Trace
from dard.trace.records import Start
from dard.trace.words import Words, explain

COMPARED = ("dard", "wino", "saber", "standard")


class Session:
    """A decode in progress.

    >>> from dard.models.scripted import LOS_DIEGO, los_diego
    >>> session = Session(los_diego(), LOS_DIEGO, decoder="dard", tau_c=0.4, tau_u=0.8)
    >>> session.step().states[3:5]
    'CC'
    >>> session.at(1).edit(3, token="San", state="U").run().text
    'The city of San Diego is on the Southern California coast .'
    """

    def __init__(
        self,
        model: Model,
        prompt: str | Sequence[int],
        decoder: str | Decoder | type[Decoder] = "dard",
        *,
        record: bool = True,
        **settings: Any,
    ) -> None:
        """`decoder` is a name, or a decoder itself. Without `record` a trace holds what was decided and no more."""
        check_is_model(model)
        self.model = model
        self.decoder = get_decoder(decoder)
        self.settings = make_settings(self.decoder, settings, model)
        check_needs(model, self.decoder.needs, self.decoder.title or self.decoder.name)
        state = initial_state(model, prompt, self.settings.gen_length, self.settings.block_length)
        if not isinstance(word := model.token_text(state.tokens[0]), str):
            raise InputError(f"model {model.name!r} writes token {state.tokens[0]} as {word!r}; token_text gives a str")
        self.prompt = prompt if isinstance(prompt, str) else model.decode(list(prompt))
        laid = laid_out(self.prompt, (model.token_text(token) for token in state.prompt), len(state.tokens))
        state = replace(state, record=record, rows=laid.cells if laid else None)
        if state.finished:
            raise InputError("template has no [MASK] left to fill; put at least one [MASK] into it")
        self._start = self._begin(state)
        self._states: list[DecodeState] = [self._start]
        self._steps: list[Step] = []
        self._start_edited: tuple[int, ...] = ()
        self._cancelled = threading.Event()

    def _begin(self, state: DecodeState) -> DecodeState:
        return state if state.finished else self.decoder.opened(self.model, self.settings, state)

    # Where it stands.

    @property
    def state(self) -> DecodeState:
        return self._states[-1]

    @property
    def states(self) -> list[DecodeState]:
        """Where it stood at the start and after each step."""
        return list(self._states)

    @property
    def steps(self) -> list[Step]:
        return list(self._steps)

    @property
    def finished(self) -> bool:
        return self.state.finished

    # Going on.

    def step(self) -> Step:
        """One more forward pass."""
        if self.finished:
            raise InputError(f"this decode is finished after {len(self._steps)} steps; undo, or branch with at(step)")
        loop.one_pass([self])
        return self._steps[-1]

    def run(self, on_step: Callable[[Step], None] | None = None) -> Trace:
        """Go on to the end, or until `cancel` is called. The trace holds what was done either way."""
        for entry in self.walk():
            if on_step:
                on_step(entry)
        return self.trace

    def walk(self) -> Iterator[Step]:
        """The remaining steps, one at a time, until the end or `cancel`."""
        self._cancelled.clear()
        for _ in loop.passes([self]):
            yield self._steps[-1]
            if self._cancelled.is_set():
                return

    def cancel(self) -> None:
        """Stop a `run` after the step it is in."""
        self._cancelled.set()

    def take(self, entry: Step, state: DecodeState) -> None:
        """Add a step that is complete, such as one made on a copy of this session in another process."""
        self._steps.append(entry)
        self._states.append(state)

    def __getstate__(self) -> dict[str, Any]:
        """What travels to another process: where it stands, without its model and its past."""
        return {**self.__dict__, "model": None, "_steps": [], "_states": self._states[-1:], "_cancelled": None}

    def __setstate__(self, values: dict[str, Any]) -> None:
        self.__dict__.update(values)
        self._cancelled = threading.Event()

    # Going back, and elsewhere.

    def undo(self) -> None:
        """Forget the last step."""
        if not self._steps:
            raise InputError("there is no step to undo")
        self._steps.pop()
        self._states.pop()

    def at(self, step: int) -> Session:
        """A new session that stands after the given step (0 is the start) and shares the past with this one."""
        if isinstance(step, bool) or not isinstance(step, int) or not 0 <= step <= len(self._steps):
            raise InputError(
                f"step = {step!r} is not allowed; step must be a whole number from 0 to {len(self._steps)}"
            )
        branch = object.__new__(Session)
        branch.__dict__.update(self.__dict__)
        branch._states = self._states[: step + 1]
        branch._steps = self._steps[:step]
        branch._cancelled = threading.Event()
        return branch

    def with_settings(self, **changes: Any) -> Session:
        """A new session at the start that keeps no record, under some other settings; its region stays."""
        settings = replace(self.settings, **changes)
        if (settings.gen_length, settings.block_length) != (self.settings.gen_length, self.settings.block_length):
            raise InputError("gen_length and block_length cannot change in a region that stays; begin another Session")
        branch = self.at(0)
        branch.settings = settings
        branch._start = branch._begin(replace(branch._start, record=False))
        branch._states = [branch._start]
        return branch

    def edit(self, position: int, token: str | int | None = None, state: str | None = None) -> Session:
        """A new session in which a position holds another token, or is in another state, after the last step.

        A token without a state becomes a candidate if the position was masked, and keeps its state otherwise.
        """
        old = self.state
        check_needs(self.model, frozenset(), "an edit by hand")
        self._check_position(position)
        wanted = self._read_state(state)
        token_id = None if token is None else self._read_token(token)
        if wanted is None:
            keep = old.states[position]
            default = CANDIDATE if CANDIDATE in self.decoder.states else UNMASKED
            wanted = MASKED if token_id == self.model.mask_id else default if keep == MASKED else keep
        if wanted == MASKED:
            if token_id not in (None, self.model.mask_id):
                raise InputError("a masked position holds no token; leave the token out, or choose another state")
            token_id = self.model.mask_id
        elif token_id is None:
            token_id = old.tokens[position]
        if wanted != MASKED and token_id == self.model.mask_id:
            raise InputError(f"position {position} is masked; name the token it shall hold as {STATE_NAMES[wanted]}")
        confidence = self._confidence_of(position, token_id)
        reliability = self._reliability_of(position, token_id, confidence)
        changed_state = replace(
            old,
            tokens=(*old.tokens[:position], token_id, *old.tokens[position + 1 :]),
            states=old.states[:position] + wanted + old.states[position + 1 :],
            confidence=(*old.confidence[:position], confidence, *old.confidence[position + 1 :]),
            reliability=(*old.reliability[:position], reliability, *old.reliability[position + 1 :]),
        ).at_open_block()
        branch = self.at(len(self._steps))
        branch._states[-1] = branch._begin(changed_state)
        if branch._steps:
            branch._steps[-1] = self._edited(branch._steps[-1], changed_state, position)
        else:
            branch._start = branch._states[0]
            branch._start_edited = tuple(sorted({*self._start_edited, position}))
        return branch

    def hide(self, position: int, check: int | None = None) -> Session:
        """A new session whose next pass does not see the token at a position (negative: of the prompt, from its end):
        nobody in it, or only the prediction of the position `check`. What comes after sees it again.

        >>> from dard.models.scripted import LOS_DIEGO, los_diego
        >>> session = Session(los_diego(), LOS_DIEGO, decoder="dard", tau_c=0.4, tau_u=0.8)
        >>> _ = session.step()
        >>> session.hide(4).step().why[3].partition(" (")[2]
        "'Diego' at 4 was hidden from everyone in this pass, by hand)."
        """
        state = self.state
        check_needs(self.model, frozenset(), "hiding a token")
        if check is not None:
            self._check_position(check)
        first, last = -len(state.prompt), len(state.tokens) - 1
        if isinstance(position, bool) or not isinstance(position, int) or not first <= position <= last:
            raise InputError(
                f"position = {position!r} is not allowed; position must be a whole number from {first} to {last}"
            )
        if position >= 0 and state.states[position] == MASKED:
            raise InputError(f"position {position} is masked: there is no token to hide")
        if self.finished:
            raise InputError(f"this decode is finished after {len(self._steps)} steps; hide a token at an earlier one")
        branch = self.at(len(self._steps))
        branch._states[-1] = replace(state, hidden=(position, check))
        return branch

    def _edited(self, last: Step, state: DecodeState, position: int) -> Step:
        """The last step as it is after an edit."""
        confidence: list[float | None] = [round(c, 6) for c in state.confidence]
        copy = replace(
            last,
            tokens=list(state.tokens),
            states=state.states,
            columns={**last.columns, "confidence": confidence},
            events={**last.events, "edited": sorted({*last.edited, position})},
            ended_by=last.ended_by if state.finished else None,
            goes_on=last.goes_on and not state.finished,
        )
        copy._mask, copy._link = last._mask, last._link
        if state.record:
            copy.why = {
                **last.why,
                position: explain(self.decoder, copy, position, Words(self.model.token_text, state.rows)),
            }
        return copy

    def _check_position(self, position: int) -> None:
        last = len(self.state.tokens) - 1
        if isinstance(position, bool) or not isinstance(position, int) or not 0 <= position <= last:
            raise InputError(
                f"position = {position!r} is not allowed; position must be a whole number from 0 to {last}"
            )
        if self.state.fixed[position]:
            raise InputError(f"position {position} is given by the template and cannot be edited")

    def _read_state(self, state: str | None) -> str | None:
        if state is None or (isinstance(state, str) and state in tuple(self.decoder.states)):
            return state
        allowed = ", ".join(self.decoder.states)
        raise InputError(f"state = {str(state)[:20]!r} is not allowed; {self.decoder.name} knows the states {allowed}")

    def _read_token(self, token: str | int) -> int:
        if isinstance(token, int) and not isinstance(token, bool):
            if not 0 <= token < self.model.vocab_size:
                raise InputError(f"token = {token} is not allowed; ids go from 0 to {self.model.vocab_size - 1}")
            return token
        if not isinstance(token, str) or len(token) > 200:
            raise InputError("token must be a word of at most 200 characters, or a token id")
        if token.strip() == "[MASK]":
            return self.model.mask_id
        try:
            ids = list(getattr(self.model, "encode_piece", self.model.encode)(token))
        except UnknownWords as error:
            raise error.in_field("token") from None
        if len(ids) != 1:
            raise InputError(f"token = {token[:40]!r} is {len(ids)} tokens for this model; it must be exactly one")
        return ids[0]

    def _confidence_of(self, position: int, token: int) -> float:
        """The probability the last pass gave to a token here; 0 if none was recorded, so that it ranks last."""
        if token == self.state.tokens[position]:
            return self.state.confidence[position]
        tables = self._steps[-1].paths if self._steps else {}
        for path in reversed(self.decoder.about.paths):  # the last one that predicted a position decided on it
            table = tables.get(path.name)
            for other, probability in table.at(position) if table else ():
                if other == token:
                    return probability
        return 0.0

    def _reliability_of(self, position: int, token: int, confidence: float) -> float:
        """What a token put in by hand ranks by."""
        if token == self.state.tokens[position]:
            return self.state.reliability[position]
        return self.decoder.reliability_by_hand(self.settings, confidence)

    # The record.

    @property
    def trace(self) -> Trace:
        """Everything up to now."""
        start, model = self._start, self.model
        noise = model.mask_id == NO_MASK
        seen = {*start.prompt, *start.tokens} | (set() if noise else {model.mask_id})
        for entry in self._steps:
            seen.update(entry.read)
            for table in (*entry.paths.values(), *([entry.soft] if entry.soft else ())):
                seen.update(table.ids)
        ends = {model.eos_id, *getattr(model, "end_ids", ())}
        settings = self.settings.as_dict()
        told = zip(self.state.tokens, self.state.states, strict=True)
        text = [token for token, state in told if state == UNMASKED or not noise]  # noise is none
        return Trace(
            model=model.name,
            num_layers=model.num_layers,
            decoder=self.decoder.name,
            settings=settings,
            about=self.decoder.describe(settings),
            prompt=self.prompt,
            prompt_tokens=list(start.prompt),
            mask_id=None if noise else model.mask_id,
            eos_id=model.eos_id,
            fixed=list(start.fixed),
            start=Start(
                tokens=list(start.tokens),
                states=start.states,
                confidence=list(start.confidence),
                edited=list(self._start_edited),
            ),
            steps=self.steps,
            token_text={token: model.token_text(token) for token in sorted(seen)},
            block_size=getattr(model, "block_size", None),
            text=model.decode(list(itertools.takewhile(lambda token: token not in ends, text))),
        )


def decode(
    model: Model, prompt: str | Sequence[int], decoder: str | Decoder | type[Decoder] = "dard", **settings: Any
) -> Trace:
    """Decode a prompt or template to the end.

    >>> from dard.models.scripted import LOS_DIEGO, los_diego
    >>> decode(los_diego(), LOS_DIEGO, tau_c=0.4, tau_u=0.8).ended_by
    'period 2'
    """
    return Session(model, prompt, decoder, **settings).run()


def compare(
    model: Model,
    prompt: str | Sequence[int],
    decoders: Sequence[str | Decoder | type[Decoder]] = COMPARED,
    settings: Mapping[str, Mapping[str, Any]] | None = None,
    **common: Any,
) -> dict[str, Trace]:
    """Decode the same prompt with several decoders, by name or themselves, in shared passes.

    `settings` holds each decoder's own; `common` goes to every decoder that has such a setting.

    >>> from dard.models.scripted import LOS_DIEGO, los_diego
    >>> {name: trace.num_steps for name, trace in compare(los_diego(), LOS_DIEGO, tau_c=0.4).items()}
    {'dard': 5, 'wino': 2, 'saber': 1, 'standard': 2}
    """
    sessions = comparison(model, prompt, decoders, settings, **common)
    loop.finish(list(sessions.values()))
    return {name: session.trace for name, session in sessions.items()}


def comparison(
    model: Model,
    prompt: str | Sequence[int],
    decoders: Sequence[str | Decoder | type[Decoder]] = COMPARED,
    settings: Mapping[str, Mapping[str, Any]] | None = None,
    **common: Any,
) -> dict[str, Session]:
    """The sessions of a comparison before their first step, by the decoders' names."""
    own = settings or {}
    compared = {decoder.name: decoder for decoder in map(get_decoder, decoders)}
    if not compared:
        raise InputError("there is no decoder to compare; name at least one")
    for name in own:
        if name not in compared:
            raise InputError(f"settings are given for {name!r}, which is not compared; there are {', '.join(compared)}")
    known = {name: decoder.Settings.names() for name, decoder in compared.items()}
    for name in common:
        if not any(name in fields for fields in known.values()):
            raise InputError(f"{name!r} is not a setting of {', '.join(compared)}")
    return {
        name: Session(
            model, prompt, decoder, **{k: v for k, v in common.items() if k in known[name]} | dict(own.get(name, {}))
        )
        for name, decoder in compared.items()
    }
