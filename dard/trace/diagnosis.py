"""What a diagnosis came to, as a trace holds it: where the answer was lost, by whom, and what would have saved it.

Promises: plain numbers, checked where a file is read; a record that is still being worked on has its `stage`, and what
is known in it stays true. States count from 0, the start, to the number of steps; steps from 1.
Does not know: how any of it is searched, or put into words.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Annotated, Any, Literal, get_args

from pydantic import Field

from dard.trace.about import Name
from dard.trace.limits import (
    MAX_GUILTY,
    MAX_LENGTH,
    MAX_STEPS,
    MAX_TEXT,
    STRICT,
    Position,
    Positions,
    Seconds,
    Sentence,
    SettingInt,
    TokenId,
)
from dard.trace.records import Verdict

Kind = Literal["right", "cut off", "model", "ending", "commit", "conflict", "revocation"]
KINDS: tuple[Kind, ...] = get_args(Kind)
Stage = Literal["states", "tokens", "causes", "settings", "revocations", "done"]
Worth = Literal["right", "wrong", "in vain"]
Judged = Literal["expected", "task", "reference"]
Count = Annotated[int, Field(ge=0, le=2**53)]
StepNumber = Annotated[int, Field(ge=0, le=MAX_STEPS)]
SettingValue = Annotated[str, Field(max_length=100)] | bool | SettingInt | float | None


@dataclass
class Attempt:
    """The run decoded again with one setting changed: whether that is right, and in how many passes.

    `nearest`: of the values of this setting that are right, the one nearest to the run's. `lucky`: right, but the
    values before and after it are not.
    """

    setting: Name
    value: SettingValue
    right: bool
    passes: StepNumber
    nearest: bool = False
    lucky: bool = False

    __pydantic_config__ = STRICT


@dataclass
class Revocation:
    """The `token` of a `position` that a `step` took back. Right: the answer can be had only without it; wrong: it can
    be had with it; in vain: neither, or the same token stands there in the end."""

    step: StepNumber
    position: Position
    token: TokenId
    worth: Worth

    __pydantic_config__ = STRICT


@dataclass
class Marked:
    """A token that is blamed, as panels show it: in their order these are called a, b, …. `name` is how it stands in a
    sentence beside its letter, `say` what is read of its place; it stands from the step `since` on."""

    position: Position
    token: TokenId
    since: StepNumber
    name: Sentence
    say: Sentence

    __pydantic_config__ = STRICT


@dataclass
class Tried:
    """A value of a setting in its strip. `own` is the run's."""

    value: Sentence
    right: bool
    own: bool
    say: Sentence

    __pydantic_config__ = STRICT


@dataclass
class Strip:
    """Values of one setting, from the smallest on; `best` is the one to try, as a setting takes it."""

    setting: Name
    symbol: Sentence
    values: Annotated[list[Tried], Field(max_length=300)]
    best: SettingValue = None
    offer: Sentence = ""

    __pydantic_config__ = STRICT


@dataclass
class Panel:
    """A diagnosis as a panel shows it, made of it by `dard.trace.diagnosis_panel`: nothing reads it back.

    `row` tells the marks under the score, `flag` stands at the lost step, `tie` under the tokens that were written in
    it together; `hold` is what masking the guilty ones is offered as.
    """

    headline: Sentence
    progress: Sentence
    where: Sentence = ""
    who: Sentence = ""
    title: Sentence = ""
    how: Sentence = ""
    saved: Sentence = ""
    row: Sentence = ""
    flag: Sentence = ""
    tie: Sentence = ""
    tied: Positions = field(default_factory=list)
    hold: Sentence = ""
    held: Positions = field(default_factory=list)
    marked: Annotated[list[Marked], Field(max_length=26)] = field(default_factory=list)
    strips: Annotated[list[Strip], Field(max_length=100)] = field(default_factory=list)
    causes: Annotated[list[Sentence], Field(max_length=100)] = field(default_factory=list)
    revoked: Annotated[list[Sentence], Field(max_length=1000)] = field(default_factory=list)

    __pydantic_config__ = STRICT


@dataclass
class Diagnosis:
    """Where a decode was lost, by whom, and what would have saved it.

    | field | meaning |
    | --- | --- |
    | right, judged_by | of the answer; "reference": careful completion from the start, which it is or departed from |
    | winnable | for state 0, 1, …: whether careful completion from there is right; null where that was not tried |
    | lost | the step after the last winnable state |
    | kind | what lost it; null until that is known |
    | guilty | minimal sets of positions: masked after the lost step, they give the answer back; the smallest first |
    | rescued | for each of them, how many passes careful completion then took |
    | minimal | whether the last search for a set ended before its completions were used up |
    | written, accepted | by guilty position: the step that wrote the token; those accepted at the end of their block |
    | together | in a conflict: two tokens of the lost step that lose it together, if there are such |
    | alone | by position: the tokens of the lost step that lose it alone |
    | with_taken | the lost step's writings lose it only together with what it took back |
    | restored | in a revocation: how many passes careful completion takes if nothing is taken back |
    | reference | the text of careful completion from the start |
    | cut | what told a cut off: "room" (right with twice of it), "end" (right if it goes on), "task" |
    | solutions | for state 0, 1, …: how many answers that the task calls right agree with it; null where unknown |
    | verdicts | what made the guilty tokens' verdicts |
    | tried | settings in the neighbourhood of the run's |
    | revocations | what each of the first revocations was worth |
    | careful | how careful completion goes |
    | recording | true where there was no decoder to ask: neither causes nor settings |
    | completions, passes, rows | what it took: completions that were made to their end, their passes, rows of logits |
    | annotation | what panels show of it |
    """

    right: bool
    judged_by: Judged
    careful: Annotated[str, Field(max_length=100)]
    winnable: Annotated[list[bool | None], Field(max_length=MAX_STEPS + 1)] = field(default_factory=list)
    lost: Annotated[int, Field(ge=1, le=MAX_STEPS)] | None = None
    kind: Kind | None = None
    guilty: Annotated[list[Positions], Field(max_length=MAX_GUILTY)] = field(default_factory=list)
    rescued: Annotated[list[Count], Field(max_length=MAX_GUILTY)] = field(default_factory=list)
    minimal: bool = True
    written: Annotated[dict[Position, StepNumber], Field(max_length=MAX_LENGTH)] = field(default_factory=dict)
    accepted: Positions = field(default_factory=list)
    alone: Positions = field(default_factory=list)
    together: Positions = field(default_factory=list)
    with_taken: bool = False
    restored: Count | None = None
    reference: Annotated[str, Field(max_length=MAX_TEXT)] | None = None
    cut: Literal["room", "end", "task"] | None = None
    solutions: Annotated[list[Count | None], Field(max_length=MAX_STEPS + 1)] = field(default_factory=list)
    verdicts: Annotated[list[Verdict], Field(max_length=100)] = field(default_factory=list)
    tried: Annotated[list[Attempt], Field(max_length=1000)] = field(default_factory=list)
    revocations: Annotated[list[Revocation], Field(max_length=1000)] = field(default_factory=list)
    recording: bool = False
    completions: Count = 0
    passes: Count = 0
    rows: Count = 0
    seconds: Seconds = 0.0
    stage: Stage = "states"
    sentences: Annotated[list[Sentence], Field(max_length=100)] = field(default_factory=list)
    annotation: Panel | None = None

    __pydantic_config__ = STRICT

    def as_dict(self) -> dict[str, Any]:
        """The record as plain JSON."""
        body = asdict(self)
        del body["annotation"]
        body["written"] = {str(position): step for position, step in self.written.items()}
        return body

    @property
    def saved_by(self) -> list[Attempt]:
        """Of each of the decoder's own settings, the value nearest to the run's that gets it right."""
        return [attempt for attempt in self.tried if attempt.nearest]
