"""A look at a file's records before they are checked: is each whole, and no larger than one may be.

Promises: what is too long, in a place where one thing stands, or lacks a field is refused by its first place; the
reader behind this would report each such thing with a copy of all that is around it, which takes gigabytes.
Does not know: types and ranges, which the reader sees to, or what a trace is for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from typing import Any, NamedTuple, get_args, get_type_hints

from dard.trace.limits import TraceError

KNOWN_AT_MOST = 60  # fields of a record; no kind has as many
SEVERAL = (list, tuple, dict, Sequence, Mapping)


class Shape(NamedTuple):
    """What may stand in a place: at most so many entries or characters, a record of some kind, or several of a kind."""

    most: int | None = None
    record: Any = None
    each: Shape | None = None
    several: bool = False  # a list or an object of entries


def shape(hint: Any) -> Shape:
    """The shape of what an annotation allows.

    >>> from typing import Annotated
    >>> from pydantic import Field
    >>> shape(Annotated[list[int], Field(max_length=3)] | None)
    Shape(most=3, record=None, each=None, several=True)
    """
    if is_dataclass(hint):
        return Shape(record=hint)
    inside = [shape(each) for each in get_args(hint)]
    if notes := getattr(hint, "__metadata__", ()):
        bounds = [each.max_length for note in notes for each in note.metadata if hasattr(each, "max_length")]
        return inside[0]._replace(most=bounds[0]) if bounds else inside[0]
    if getattr(hint, "__origin__", None) in SEVERAL:
        return Shape(each=inside[-1] if any(inside[-1]) else None, several=True)
    return next((each for each in inside if any(each)), Shape())


@cache
def parts(record: Any) -> tuple[list[str], dict[str, Shape]]:
    """The fields that a record needs, and the shapes of all."""
    needed = [each.name for each in fields(record) if each.default is MISSING and each.default_factory is MISSING]
    return needed, {name: shape(hint) for name, hint in get_type_hints(record, include_extras=True).items()}


def refuse_crowds(allowed: Shape, value: Any, where: str = "") -> None:
    """Look at one place, and at those within it."""
    broken = f"trace file is broken at {where or 'the top'}: "
    if not isinstance(value, dict | list | str):
        return
    if allowed.most is not None and len(value) > allowed.most:
        what = "characters" if isinstance(value, str) else "entries"
        raise TraceError(f"{broken}it has {len(value)} {what}; at most {allowed.most} are read")
    if isinstance(value, str):
        return
    before = f"{where}." if where else ""
    if allowed.several:
        named = value.items() if isinstance(value, dict) else enumerate(value)
        if inside := allowed.each:
            for name, each in named:
                refuse_crowds(inside, each, f"{before}{str(name)[:40]}")
    elif allowed.record and isinstance(value, dict):
        if len(value) > KNOWN_AT_MOST:
            raise TraceError(f"{broken}it has fields that are not known")
        needed, known = parts(allowed.record)
        if missing := next((name for name in needed if name not in value), None):
            raise TraceError(f"trace file is broken at {before}{missing}: it is missing")
        for name in known.keys() & value.keys():
            refuse_crowds(known[name], value[name], f"{before}{name}")
    else:
        raise TraceError(f"{broken}{'a list' if isinstance(value, list) else 'an object'} is not allowed there")
