"""Settings of a decoder: a frozen dataclass whose fields carry their own help text and allowed range.

The page, the command line and the documentation's tables are all made from these fields; validation happens here and
nowhere else. A bad value raises `InputError` (a `ValueError`) that names the field, the value and what is allowed.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from dard.core.errors import InputError


@dataclass(frozen=True)
class Allowed:
    """What a setting may be. `low`/`high` bound numbers (exclusive when `open_*`); `choices` lists words;
    `optional` admits None; `below` names another setting that this one may not exceed; `formerly` is the name that
    older files, links and programs have for it."""

    help: str
    kind: type
    symbol: str | None = None
    low: float | None = None
    high: float | None = None
    open_low: bool = False
    open_high: bool = False
    choices: tuple[str, ...] = ()
    optional: bool = False
    below: str | None = None
    formerly: str | None = None

    def describe(self) -> str:
        """The allowed values in words.

        >>> Allowed("", float, low=0, high=1, open_low=True).describe()
        'a number above 0 and at most 1'
        """
        words = " or ".join(repr(choice) for choice in self.choices)
        if self.kind is not str:
            noun = "a whole number" if self.kind is int else "a number"
            low = "" if self.low is None else f"{'above' if self.open_low else 'at least'} {self.low}"
            high = "" if self.high is None else f"{'below' if self.open_high else 'at most'} {self.high}"
            limits = " and ".join(part for part in (low, high) if part)
            words = " or ".join(part for part in (words, f"{noun} {limits}".strip()) if part)
        return words + (" (or nothing)" if self.optional else "")

    def around(self, value: Any, also: Iterable[Any] = ()) -> list[Any]:
        """Other values near one, in their order: every other word; of a share the tenths; whole numbers one away, half
        and twice of it; other numbers by a factor of 2 and 10; and what is given `also`.

        >>> Allowed("", int, low=1, high=9).around(4, [6]), Allowed("", str, choices=("a", "b")).around("b")
        ([2, 3, 5, 6, 8], ['a'])
        """
        near = [each for each in also if isinstance(each, int | float)]
        if isinstance(value, str):
            return [
                *(each for each in self.choices if each != value),
                *sorted({each for each in near if each != value}),
            ]
        if value is not None and self.kind is int:
            near += [value // 2, value - 1, value + 1, 2 * value]
        elif value is not None and (self.low, self.high) == (0, 1):
            near += [*(tenth / 10 for tenth in range(1, 10)), 0.95]
        elif value is not None:
            near += [float(f"{value * factor:.6g}") for factor in (0.1, 0.5, 2, 10)]
        words = [each for each in self.choices if each != value] if self.kind is not str else []
        return words + sorted({self.kind(each) for each in near if self._inside(each)} - {value})

    def check(self, name: str, value: Any) -> Any:
        """The value in its proper type, or an `InputError`."""
        if value is None and self.optional:
            return None
        if isinstance(value, str) and value in self.choices:
            return value
        if self.kind is not str and not isinstance(value, bool | bytes):
            try:
                number = self.kind(value)
                if math.isfinite(number) and float(number) == float(value) and self._inside(number):
                    return number
            except (TypeError, ValueError, OverflowError):
                pass
        shown = repr(value) if len(repr(value)) <= 60 else repr(value)[:57] + "..."
        raise InputError(f"{name} = {shown} is not allowed; {name} must be {self.describe()}")

    def _inside(self, number: float) -> bool:
        above = self.low is None or number > self.low or (number == self.low and not self.open_low)
        below = self.high is None or number < self.high or (number == self.high and not self.open_high)
        return above and below


def setting(default: Any, help: str, kind: type, **allowed: Any) -> Any:
    """A dataclass field with its help text and allowed values."""
    return dataclasses.field(default=default, metadata={"allowed": Allowed(help, kind, **allowed)})


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What every decoder can be told."""

    gen_length: int = setting(
        32, "masks appended to a prompt that has none (a template is its own region)", int, low=0, high=8192
    )
    block_length: int | None = setting(
        None, "positions decoded together, block after block; nothing: the whole region", int, low=1, high=8192,
        optional=True,
    )  # fmt: skip
    temperature: float = setting(0.0, "randomness (Gumbel noise); 0: always the likeliest token", float, low=0, high=10)
    seed: int = setting(0, "seed of that noise", int, low=0, high=2**31 - 1)
    eos: str = setting(
        "free", "end tokens: as the model predicts them; never: the end of the text is not predicted; last: end tokens "
        "are placed only after all other tokens of the block", str, choices=("free", "never", "last"),
    )  # fmt: skip
    prefix_cache: str = setting(
        "off", "block: the prompt's keys and values are computed once per block, which is faster and changes results "
        "(on a block-causal model: those of all that is before the block, and results stay)", str,
        choices=("off", "block"),
    )  # fmt: skip

    def __post_init__(self) -> None:
        for name, allowed in self.allowed().items():
            object.__setattr__(self, name, allowed.check(name, getattr(self, name)))
        for low, high in ((name, allowed.below) for name, allowed in self.allowed().items() if allowed.below):
            if (value := getattr(self, low)) > (limit := getattr(self, high)):
                raise InputError(f"{low} = {value:g} is above {high} = {limit:g}; {low} must be at most {high}")

    @classmethod
    def allowed(cls) -> dict[str, Allowed]:
        """Field name to what it may be, in order."""
        return {field.name: field.metadata["allowed"] for field in dataclasses.fields(cls)}

    @classmethod
    def names(cls) -> dict[str, str]:
        """Every name that is understood, former ones included, to the field's own."""
        known = cls.allowed()
        return {name: name for name in known} | {each.formerly: name for name, each in known.items() if each.formerly}

    @classmethod
    def of(cls, values: dict[str, Any]) -> Any:
        """Settings from a mapping; an unknown name is refused by name."""
        known = cls.names()
        for name in values:
            if name not in known:
                raise InputError(f"{str(name)[:60]!r} is not a setting here; there are {', '.join(cls.allowed())}")
            if name != known[name] and known[name] in values:
                raise InputError(f"{name!r} is the former name of {known[name]!r}; give one of them")
        return cls(**{known[name]: value for name, value in values.items()})

    def as_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)
