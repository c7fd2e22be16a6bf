"""What a trace says about itself: its columns, paths, thresholds and events, in the words of the decoder that made it.

Whoever shows a trace reads this and knows no decoder by name. Plain data, no torch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import Field

from dard.core.state import BLANK, DECIDED, MASKED, ROLES, STATE_NAMES, TENTATIVE, UNMASKED

# Letters as Unicode has them, written so that Python and a browser read the same into it.
Name = Annotated[str, Field(min_length=1, max_length=40, pattern=r"^[\p{L}\p{M}\p{N}_][\p{L}\p{M}\p{N}_ .:-]*$")]
Short = Annotated[str, Field(max_length=100)]
Long = Annotated[str, Field(max_length=1000)]
Letter = Annotated[str, Field(pattern=r"^[A-Z]?$")]
MAX_STATES = 12


@dataclass(frozen=True)
class StateKind:
    """A state that a position can be in: its letter, what it is called, and what it is to whoever shows it. `blank`:
    nothing to be read there yet; `tentative`: a token that may still go; `decided`: one that stays, or is said to."""

    letter: Annotated[str, Field(pattern=r"^[A-Z]$")]
    title: Annotated[str, Field(min_length=1, max_length=40)]
    role: Literal["blank", "tentative", "decided"]
    help: Annotated[str, Field(max_length=1000)] = ""


STATES = {letter: StateKind(letter, name, ROLES[letter]) for letter, name in STATE_NAMES.items()}  # type: ignore[arg-type]


def masked_states(letters: str = MASKED + UNMASKED) -> tuple[StateKind, ...]:
    """Those of masked decoding, by their letters."""
    return tuple(STATES[letter] for letter in letters)


@dataclass(frozen=True)
class Column:
    """A number per position that every step may hold. `range` bounds what it can be; None: 0 or more.

    `mirror` names a column to be drawn on the other side of the same axis. `formula` shows how the number came about,
    with other columns in braces: "{P} / ({P} + {D})". `Decoder.about_with` can write both texts from the settings.
    """

    name: Name
    symbol: Short = ""
    help: Long = ""
    range: tuple[float, float] | None = None
    mirror: Short = ""
    formula: Short = ""

    def __post_init__(self) -> None:
        if self.range is not None:
            low, high = self.range
            object.__setattr__(self, "range", (float(low), float(high)))


@dataclass(frozen=True)
class Path:
    """One way a position's token was predicted; the inspector has a column for it. `decides`: what it says when this
    is the path a position was decided by."""

    name: Name
    title: Short = ""
    help: Long = ""
    decides: Short = ""


@dataclass(frozen=True)
class Threshold:
    """A setting that confidences are compared with: on one path, or on all of them.

    `on` names that path. `enters` is the state that a position above it is in. `symbol` and `at` are filled in from the
    settings. (No field may be called "path": Gradio's client takes an object with one for a file.)
    """

    name: Name
    on: Short = ""
    enters: Letter = ""
    symbol: Short = ""
    at: Annotated[float, Field(ge=0, le=1)] | None = None


@dataclass(frozen=True)
class Event:
    """Something that can happen to a position in a step, and what it is called.

    `mark` is a sign for it, on the token; `value` names a column whose number belongs to it.
    """

    title: Short
    help: Long = ""
    mark: Annotated[str, Field(max_length=4)] = ""
    value: Short = ""


@dataclass(frozen=True)
class Relation:
    """How strongly positions depend on one another, where steps hold that (`dard.trace.Graph`).

    `symbol` stands for a cell, `limit` for the number above which a cell keeps a position waiting; `column` led the
    order of the positions.
    """

    title: Short
    help: Long = ""
    symbol: Short = ""
    limit: Short = ""
    column: Short = ""


# What the driver reads off the states before and after, for every decoder.
EVENTS: dict[str, Event] = {
    "decided": Event("decided", "a masked position was given a token"),
    "promoted": Event("promoted", "a candidate became unmasked by verification"),
    "weakened": Event("weakened", "an unmasked token became a candidate again"),
    "demoted": Event("revoked", "a token was taken back: the position is masked again"),
    "replaced": Event("replaced", "another token took the place of the one held"),
    "accepted": Event("accepted", "taken as it stood, because decoding had stopped moving or reached its cap"),
    "forced": Event("forced in", "the surest of those below the threshold, taken so that the step makes progress"),
    "edited": Event("edited", "changed by hand"),
    "waiting": Event("waits for the others", "its best guess ends the text, and end tokens come last (eos = last)"),
}
QUIET = ("forced", "waiting")  # these change nothing by themselves


@dataclass(frozen=True)
class About:
    """A decoder in its own words, as a decoder declares it and as a trace holds it.

    `columns` and `paths` are its own (the confidence is everybody's); `thresholds` are names of settings, or
    `Threshold`s; `events` are its own kinds or its own words for the common ones. `cells` says why a cell of the mask
    is open or closed: keys are "self" and "own" for a shadow and its own token or mask, otherwise query path, query
    state, key path, key state, visible (1 or 0), with * for any state; {q} and {k} are the two tokens.
    `shadow`: passes have a shadow block, and so a mask to show. `graph`: steps hold a graph. `soft`: masks can be mixes
    of words. `later`: passes see the blocks after the current one. Of several paths that predicted a position, the last
    declared one decided. `unmeasured`: a confidence may be null, which says that nobody measured it (in recordings).
    `states`: those that positions can be in, from blank to decided; whoever shows them goes by their roles.
    A trace also holds title and rule, from the decoder's class, of the states those it uses, and symbols of settings.
    """

    columns: Annotated[Sequence[Column], Field(max_length=20)] = ()
    paths: Annotated[Sequence[Path], Field(max_length=10)] = ()
    thresholds: Annotated[Sequence[Threshold | str], Field(max_length=10)] = ()
    events: Annotated[Mapping[Name, Event], Field(max_length=30)] = field(default_factory=dict)
    cells: Annotated[Mapping[Annotated[str, Field(max_length=8)], Long], Field(max_length=64)] = field(
        default_factory=dict
    )
    shadow: bool = False
    graph: Relation | None = None
    soft: bool = False
    later: bool = True
    unmeasured: bool = False
    title: Short = ""
    rule: Short = ""
    states: Annotated[Sequence[StateKind], Field(min_length=2, max_length=MAX_STATES)] = tuple(STATES.values())
    symbols: Annotated[Mapping[Name, Short], Field(max_length=60)] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("columns", "paths", "thresholds", "states"):
            object.__setattr__(self, name, tuple(getattr(self, name)))  # so that what was read equals what was written

    @cached_property
    def kinds(self) -> dict[str, StateKind]:
        """The states by their letters."""
        return {kind.letter: kind for kind in self.states}

    @cached_property
    def blank(self) -> str:
        """The letters of the states in which nothing is decided."""
        return self._letters(BLANK)

    @cached_property
    def tentative(self) -> str:
        return self._letters(TENTATIVE)

    @cached_property
    def decided(self) -> str:
        return self._letters(DECIDED)

    def _letters(self, role: str) -> str:
        return "".join(kind.letter for kind in self.states if kind.role == role)

    def event(self, name: str) -> Event:
        """What an event is called here."""
        return self.events.get(name) or EVENTS.get(name) or Event(name)

    def with_values(self, settings: Mapping[str, Any], symbols: Mapping[str, str]) -> About:
        """The same for a run with these settings: thresholds have their values, those switched off are left out."""
        thresholds = []
        for each in self.thresholds:
            threshold = Threshold(each) if isinstance(each, str) else each
            at = settings.get(threshold.name)
            if isinstance(at, int | float) and not isinstance(at, bool) and 0 <= at <= 1:
                symbol = symbols.get(threshold.name) or threshold.name
                thresholds.append(replace(threshold, symbol=symbol, at=float(at)))
        return replace(self, thresholds=thresholds, symbols=symbols)
