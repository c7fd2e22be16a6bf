"""What a question must hold, and the sentence that refuses one that does not.

Promises: types, ranges and lengths stand here and nowhere else; whatever arrives becomes a checked request, or an
`InputError` with one sentence that names the field and what is allowed. What is null is as good as not there, and what
nobody asked for is left out.
Does not know: who asks, or what is answered.
"""

from __future__ import annotations

import base64
import binascii
from functools import partial
from types import UnionType
from typing import Annotated, Any, Literal, Self, Union, get_args, get_origin

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic.fields import FieldInfo

from dard.analysis.expected import LONGEST
from dard.core.errors import InputError
from dard.decoders import DECODERS
from dard.trace.answers import LONGEST as LONGEST_PATTERN
from visual.export import MOST_FRAMES
from visual.payload import shown
from visual.server.images import TOGETHER_AT_MOST

PROMPT_AT_MOST = 4000  # characters
SETTINGS_AT_MOST = 40
COMPARED_AT_MOST = 5
BRANCHES_AT_MOST = 20
TRIES_AT_MOST = 120
PASSES_AT_ONCE = 64
EXPLAINED_AT_MOST = 60  # seconds
UPLOAD_AT_MOST = 16 << 20
RESULTS_FILES_AT_MOST = 20  # opened together
NUMBER_AT_MOST = 100_000  # of a step or a position; how many there are is known when the run is


class Request(BaseModel):
    """A question. A subclass declares its fields; where a type does not say what it must be, a `description` does."""

    model_config = ConfigDict(extra="ignore", strict=True, frozen=True)

    @classmethod
    def of(cls, data: Any) -> Self:
        """What a client sent, checked."""
        if isinstance(data, cls):
            return data
        given = data if isinstance(data, dict) else {}
        try:
            return cls.model_validate({name: value for name, value in given.items() if value is not None})
        except ValidationError as error:
            raise InputError(refusal(cls, error)) from None

    def given(self, *names: str) -> dict[str, Any]:
        """These fields, or all of them, as far as they were sent."""
        return {name: getattr(self, name) for name in names or self.model_fields_set if name in self.model_fields_set}


def refusal(request: type[Request], error: ValidationError) -> str:
    """The sentence for the first field that is wrong."""
    problems = error.errors(include_url=False)
    of_first = [problem for problem in problems if problem["loc"][:1] == problems[0]["loc"][:1]]
    problem = next((each for each in of_first if each["type"] == "string_too_long"), of_first[0])
    owner: type[Request] | None = request
    name, field = "", FieldInfo()
    for part in problem["loc"]:
        if owner and part in owner.model_fields:
            name, field = str(part), owner.model_fields[str(part)]
            inside = (each for each in kinds(field.annotation) if isinstance(each, type) and issubclass(each, Request))
            owner = next(inside, None)
    if problem["type"] == "value_error":
        return str(problem["ctx"]["error"])
    if problem["type"] == "string_unicode":
        return f"{name} holds half of a character, a lone surrogate; leave it out"
    if problem["type"] == "string_too_long" and not field.description:
        most = problem["ctx"]["max_length"]
        return f"{name} is {len(problem['input'])} characters long; at most {most} are allowed"
    return not_allowed(name, None if problem["type"] == "missing" else problem["input"], field)


def kinds(annotation: Any) -> set[Any]:
    """The types in an annotation: those of a union, and what a list holds."""
    inside = get_args(annotation) if get_origin(annotation) in (Union, UnionType, list, Annotated) else ()
    return {annotation}.union(*(kinds(each) for each in inside))


def not_allowed(name: str, value: Any, field: FieldInfo) -> str:
    of = kinds(field.annotation)
    options = next((get_args(each) for each in of if get_origin(each) is Literal), ())
    bounds = {key: getattr(bound, key) for bound in field.metadata for key in ("ge", "le") if hasattr(bound, key)}
    if options:
        must = f"one of {', '.join(options)}"
    elif field.description:
        must = field.description
    elif int in of:
        must = "a whole number" + (" from {ge} to {le}".format(**bounds) if len(bounds) == 2 else "")
    else:
        must = "true or false" if bool in of else "text"
    if options or float in of or (int in of and str not in of):
        return f"{name} = {displayed(value)} is not allowed; {name} must be {must}"
    return f"{name} must be {must}"


def displayed(value: Any) -> str:
    """A value in a sentence. Lists and objects may be deep and numbers long, so they are not written out."""
    if isinstance(value, list | dict):
        return "[…]" if isinstance(value, list) else "{…}"
    if isinstance(value, int) and value.bit_length() > 200:
        return "a number of too many digits"
    return shown(str(value))


def whole(name: str, value: Any, low: int, high: int) -> int:
    """A number whose range only its run knows."""
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise InputError(
            f"{name} = {displayed(value)} is not allowed; {name} must be a whole number from {low} to {high}"
        )
    return value


def decoded(value: Any, what: str, at_most: int = UPLOAD_AT_MOST) -> bytes:
    """Bytes that were sent as text; from Python they come as they are."""
    if isinstance(value, bytes) and len(value) <= at_most:
        return value
    if not isinstance(value, str) or len(value) > at_most * 4 // 3 + 4:
        raise InputError(f"{what} is missing or larger than {at_most >> 20} MB")
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        raise InputError(f"{what} did not arrive whole; try again") from None


# What an endpoint's parameters may be.
Text = Annotated[str, Field(max_length=100)]
Title = Annotated[str, Field(max_length=200)]
Word = Annotated[str, Field(max_length=300, description="text of at most 300 characters")]
ModelName = Annotated[str, Field(max_length=300)]  # nothing: the first that the page offers
Prompt = Annotated[str, Field(max_length=PROMPT_AT_MOST)]
Settings = Annotated[
    dict | None, Field(max_length=SETTINGS_AT_MOST, description="an object of setting names and values")
]
Step = Annotated[int, Field(ge=1, le=NUMBER_AT_MOST)]
Steps = Annotated[int | None, Field(ge=1, le=NUMBER_AT_MOST)]  # nothing: all that are left
Count = Annotated[int, Field(ge=0, le=1_000_000)]
Number = Annotated[int, Field(ge=0, le=NUMBER_AT_MOST)]
OrPrompt = Annotated[int, Field(ge=-NUMBER_AT_MOST, le=NUMBER_AT_MOST)]  # a position; negative: of the prompt
AnyNumber = Annotated[int, Field(ge=-(10**9), le=10**9)]  # whoever gets it says which are allowed
Samples = Annotated[int | None, Field(ge=-NUMBER_AT_MOST, le=NUMBER_AT_MOST)]
Branch = Annotated[int, Field(ge=0, le=BRANCHES_AT_MOST - 1)]
Kind = Literal["trace", "html", "lanes"]
AnswerPattern = Annotated[str, Field(max_length=LONGEST_PATTERN)]  # nothing: the usual marks
Expectation = Annotated[str, Field(max_length=LONGEST)]  # a text or a /pattern/; nothing: the task judges
View = Annotated[dict[str, Any] | None, Field(description="an object of what the page opens on")]
Frames = Annotated[list[Any], Field(max_length=MOST_FRAMES, description=f"a list of at most {MOST_FRAMES} PNGs")]
TraceFile = Annotated[Any, Field(validate_default=True), BeforeValidator(partial(decoded, what="trace file"))]
ImageFile = Annotated[Any, Field(validate_default=True), BeforeValidator(partial(decoded, what="image file"))]


class Question(Request):
    """The name of a question, which the browser makes unguessable."""

    question: Text


class DecodeRequest(Request):
    """A decode from its beginning."""

    prompt: Prompt
    decoder: Annotated[str, Field(max_length=40)] = "dard"
    model: ModelName = ""
    settings: Settings = None


class PageRequest(DecodeRequest):
    """With what only a page has."""

    images: list[Text] = Field(
        [], max_length=TOGETHER_AT_MOST, description=f"a list of at most {TOGETHER_AT_MOST} names of pictures"
    )
    fit: Literal["crop", "squeeze"] = "crop"
    think: bool = False


class Edit(Request):
    """What is done by hand to a position after a step; with `hide`, the step is made again without its token."""

    step: Number
    position: OrPrompt
    token: AnyNumber | Title | None = Field(None, description="a word or a token id")
    state: Text | None = None
    hide: Literal["all", "check"] | None = None
    check: int | None = Field(None, ge=0, le=NUMBER_AT_MOST)


class BranchRequest(Edit):
    run: Text
    branch: Branch = 0


class StartRequest(PageRequest):
    edits: list[Edit] = Field(
        [], max_length=BRANCHES_AT_MOST - 1, description=f"a list of at most {BRANCHES_AT_MOST - 1} objects"
    )

    steps: int = Field(0, ge=0, le=PASSES_AT_ONCE)  # to be made before it is answered
    instead: Text = ""  # a run that nobody looks at any more once this one is there


class TriesRequest(PageRequest):
    """One prompt under many settings: what each try changes of `settings`."""

    tries: list[dict[str, Any]] = Field(
        min_length=1, max_length=TRIES_AT_MOST, description=f"a list of 1 to {TRIES_AT_MOST} objects of settings"
    )


class CompareRequest(Request):
    lanes: list[dict[str, Any]] = Field(
        min_length=1, max_length=COMPARED_AT_MOST, description=f"a list of 1 to {COMPARED_AT_MOST} decoders"
    )
    model: ModelName = ""
    prompt: Any = None  # these are checked with each lane that decodes
    images: Any = None
    fit: Any = None
    think: Any = None


class OpenedLane(Request):
    """A trace from a file beside lanes that decode: its run."""

    opened: Text


class CheckRequest(Request):
    """Whatever might be asked for; what is wrong with it is the answer."""

    model_config = ConfigDict(extra="allow")
    model: ModelName = ""


class ResultsFile(Request):
    name: Word
    folder: Word
    rows: Any = None
    run: Any = None


ResultsFiles = Annotated[
    list[ResultsFile],
    Field(
        min_length=1,
        max_length=RESULTS_FILES_AT_MOST,
        description=f"a list of 1 to {RESULTS_FILES_AT_MOST} results files",
    ),
]


# Of programs and assistants. What they need not say comes last.


class ProgramStep(DecodeRequest):
    prompt: Prompt = ""
    run: Text = ""


class ProgramCompare(Request):
    prompt: Prompt
    decoders: list[str] | None = Field(
        None,
        max_length=COMPARED_AT_MOST,
        description=f"a list of 1 to {COMPARED_AT_MOST} names of {', '.join(DECODERS)}",
    )
    model: ModelName = ""
    settings: dict | None = Field(
        None,
        max_length=SETTINGS_AT_MOST,
        description="an object of decoder names, each with an object of settings",
    )


class ProgramExplain(DecodeRequest):
    step: Number = 0  # nothing: all of them
    position: int = Field(-1, ge=-1, le=NUMBER_AT_MOST)


class ProgramCauses(DecodeRequest):
    step: Step
    position: Number
    seconds: float = Field(10, gt=0, le=EXPLAINED_AT_MOST, description=f"above 0, up to {EXPLAINED_AT_MOST}")


class ProgramDiagnose(DecodeRequest):
    expected: Expectation = ""
    seconds: float = Field(30, gt=0, le=EXPLAINED_AT_MOST, description=f"above 0, up to {EXPLAINED_AT_MOST}")
