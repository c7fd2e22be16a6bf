"""How large a trace may be, and the kinds of numbers and texts it is made of. Whoever reads or writes one asks here."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from pydantic import ConfigDict, Field

from dard.core.errors import InputError

VERSION = 3
TOP_K = 5
MAX_FILE_BYTES = 64 << 20
MAX_RECORDS = 2_000_000  # lists and objects of a file, each of which becomes one in memory
MAX_ENTRIES = 16_000_000  # of all of these
MAX_NAMED = 4_000_000  # of these, entries that have a name, which take the most
MAX_LENGTH = 8192  # positions of a region
MAX_STEPS = 20_000
REPR_AT_MOST = 80  # characters of its text that a trace is shown with
MAX_VERDICTS = 10_000
MAX_GUILTY = 10_000  # sets of positions that each give an answer back
MAX_MASK_BYTES = 256 << 20
MAX_GRAPH = 512  # positions of a graph whose cells are kept
MAX_GRAPH_BYTES = 64 << 20  # the cells of all graphs of a trace
MAX_TEXT = 200_000
MAX_TOKEN_TEXT = 1000
MAX_SENTENCE = 2000
MAX_NAMED_ERRORS = 1000

TokenId = Annotated[int, Field(ge=0, le=10_000_000)]
Position = Annotated[int, Field(ge=0, lt=MAX_LENGTH)]
Place = Annotated[int, Field(ge=-MAX_TEXT, lt=MAX_LENGTH)]  # a position, or a token of the prompt, counted from its end
Number = Annotated[float, Field(ge=-1e9, le=1e9)]
Positions = Annotated[list[Position], Field(max_length=MAX_LENGTH)]
Values = Annotated[list[Number | None], Field(max_length=MAX_LENGTH)]
Sentence = Annotated[str, Field(max_length=MAX_SENTENCE)]
Share = Annotated[float, Field(ge=0, le=1)]
Seconds = Annotated[float, Field(ge=0, le=1e7)]
SettingInt = Annotated[int, Field(ge=-(2**53), le=2**53)]  # what every JSON reader can hold


class Room(NamedTuple):
    """How much a file may hold once it is unpacked. A page that anyone may use has less room than the library."""

    unpacked: int = MAX_FILE_BYTES
    records: int = MAX_RECORDS
    entries: int = MAX_ENTRIES
    named: int = MAX_NAMED
    positions: int = MAX_LENGTH  # of the region


LIBRARY = Room()


STRICT = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class TraceError(InputError):
    """A trace file that is broken, too large, or of another kind. One sentence."""
