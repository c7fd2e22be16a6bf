"""The door for decoders: whoever registers one is treated like the project's own, which enter here too.

From Python by `register_decoder`, from a file by `--load FILE`, from an installed package by an entry point of the
group "dard.decoders". The order of registration is the order of lists and colours.
"""

from __future__ import annotations

import inspect
import re
from dataclasses import asdict
from functools import cache
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from dard.core.errors import InputError
from dard.core.settings import Settings
from dard.decoders.base import Decoder
from dard.trace.about import EVENTS, About
from dard.trace.words import SPEAKERS

DECODERS: dict[str, Decoder] = {}
NAME = re.compile(r"^[a-z][a-z0-9_]{0,39}$")

Kind = TypeVar("Kind", bound="type[Decoder]")


def register_decoder(kind: Kind) -> Kind:
    """Make a decoder known by its name, everywhere a decoder can be named. May stand above a class as a decorator.

    A class of the same name that was registered before is replaced if it comes from the same file, so that a file can
    be loaded again; anything else is refused.
    """
    who = getattr(kind, "__name__", repr(kind)[:60])
    if not inspect.isclass(kind) or not issubclass(kind, Decoder):
        raise InputError(f"{who} is no decoder; register_decoder takes a subclass of dard.Decoder")
    if missing := sorted(getattr(kind, "__abstractmethods__", ())):
        raise InputError(f"decoder {who} lacks {' and '.join(missing)}")
    name = getattr(kind, "name", None)
    if not isinstance(name, str) or not NAME.match(name):
        raise InputError(
            f"decoder {who} has the name {str(name)[:60]!r}; a name has lower-case letters, digits and _, "
            "begins with a letter and is at most 40 characters long"
        )
    known = DECODERS.get(name)
    if known is not None and source_of(type(known)) != source_of(kind):
        raise InputError(f"there is a decoder named {name!r} already; give {who} another name")
    if not inspect.isclass(kind.Settings) or not issubclass(kind.Settings, Settings):
        raise InputError(f"the Settings of decoder {name!r} must be a subclass of dard.Settings")
    check_about(name, kind.about, kind.Settings)
    if unknown := set(kind.states) - kind.about.kinds.keys():
        raise InputError(f"decoder {name!r} has the state {min(unknown)!r}, which its about does not declare")
    for values in kind.grid:
        kind.Settings.of(dict(values))
    DECODERS[name] = SPEAKERS[name] = kind()
    return kind


def source_of(kind: type) -> str:
    try:
        return inspect.getfile(kind)
    except (OSError, TypeError):  # made by hand, in a notebook or an interpreter
        return kind.__module__


def check_about(name: str, about: About, settings: type[Settings]) -> None:
    """What a decoder declares must be there once, under names that exist, and fit into a trace file."""
    try:
        about_reader().validate_python(asdict(about))
    except ValidationError as error:
        where = ".".join(map(str, error.errors()[0]["loc"]))[:100]
        raise InputError(
            f"the about of decoder {name!r} is not allowed at {where}: {error.errors()[0]['msg']}"
        ) from None
    for what, names in (
        ("column", ["confidence", *(column.name for column in about.columns)]),
        ("path", [path.name for path in about.paths]),
    ):
        for each in names:
            if names.count(each) > 1:
                raise InputError(f"decoder {name!r} declares the {what} {each!r} twice")
    for threshold in about.thresholds:
        of = threshold if isinstance(threshold, str) else threshold.name
        if of not in settings.allowed():
            raise InputError(f"decoder {name!r} names the threshold {of!r}, which is none of its settings")
    names = [column.name for column in about.columns]
    pointers = [(f"the column {column.name!r}", column.mirror) for column in about.columns]
    pointers += [(f"the event {each!r}", event.value) for each, event in about.events.items()]
    pointers += [("the graph", about.graph.column)] if about.graph else []
    for what, of in pointers:
        if of and of not in names:
            raise InputError(f"{what} of decoder {name!r} points to {of!r}, which is no column of it")


@cache
def about_reader() -> TypeAdapter[About]:
    return TypeAdapter(About)


def get_decoder(named: str | Decoder | type[Decoder]) -> Decoder:
    """A decoder by its name; a decoder itself, or its class, is taken as it is."""
    if isinstance(named, Decoder):
        return named
    if inspect.isclass(named) and issubclass(named, Decoder):
        return named()
    try:
        return DECODERS[named]
    except (KeyError, TypeError):
        raise InputError(f"unknown decoder {str(named)[:60]!r}; allowed are {', '.join(DECODERS)}") from None


def make_settings(decoder: str | Decoder | type[Decoder], values: dict[str, Any], model: Any = None) -> Settings:
    """A decoder's settings from keyword values; what is not given comes from the model's own defaults, then ours."""
    kind = get_decoder(decoder).Settings
    return kind.of(defaults_for(kind, model) | values)


def defaults_for(kind: type[Settings], model: Any) -> dict[str, Any]:
    """What a model brings along for the settings of a decoder."""
    size = getattr(model, "block_size", None)  # one that was trained on blocks decodes in those
    own = {} if size is None else {"block_length": size}
    return {k: v for k, v in {**getattr(model, "defaults", {}), **own}.items() if k in kind.allowed()}


def declared_events(about: About) -> set[str]:
    return {*EVENTS, *about.events}
