"""Which variants of an experiment are run, and what all of them are told.

Promises: a name or a value that cannot be meant is refused before a model is loaded.
Does not know: experiments; it is given their grids.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from dard.core.errors import InputError
from dard.decoders import get_decoder
from dard.results.sweep import Variant, variant_of

MOST_SEEDS = 100
LENGTHS = ("gen_length", "block_length")  # of the items, which the plan knows


@dataclass(frozen=True)
class Choice:
    """`decoders` names those of the grid that stay; `variants` come in place of the grid, or beside what stays of it;
    `told` goes to every variant whose decoder knows it; with several `seeds` each variant is run with every one."""

    decoders: Sequence[str] = ()
    variants: Sequence[Variant] = ()
    told: Mapping[str, Any] = field(default_factory=dict)
    seeds: int = 1

    @staticmethod
    def of(
        decoders: str | Sequence[str] | None = None,
        variants: Sequence[str] | None = None,
        told: Sequence[str] | None = None,
        seeds: int = 1,
    ) -> Choice:
        """As it is typed: "dard,wino", ["dard tau_u=0.7"], ["temperature=0.5"].

        >>> [v.name for v in Choice.of(variants=["dard tau_u=0.7 tau_c=0.5", "wino"]).apply([])]
        ['DARD τ_u=0.7 τ_c=0.5', 'WINO']
        """
        names = [name.strip() for name in decoders.split(",")] if isinstance(decoders, str) else list(decoders or ())
        for name in names:
            get_decoder(name)
        if isinstance(seeds, bool) or not isinstance(seeds, int) or not 1 <= seeds <= MOST_SEEDS:
            raise InputError(f"seeds = {seeds!r} is not allowed; seeds must be a whole number from 1 to {MOST_SEEDS}")
        values = pairs("--set", list(told or ()))
        return Choice(names, [parse(text) for text in variants or ()], values, seeds)

    def lengths(self) -> dict[str, int]:
        """The lengths that were set, which are the items' own business."""
        try:
            return {name: int(self.told[name]) for name in LENGTHS if name in self.told}
        except ValueError:
            raise InputError(f"{' and '.join(LENGTHS)} must be whole numbers") from None

    def apply(self, grid: Sequence[Variant]) -> list[Variant]:
        """What is run of a grid."""
        kept = [variant for variant in grid if variant.decoder in self.decoders] if self.decoders else list(grid)
        if self.variants:
            kept = [*(kept if self.decoders else []), *self.variants]
        if not kept:
            there = ", ".join(dict.fromkeys(variant.decoder for variant in grid))
            raise InputError(f"decoders = {','.join(self.decoders)} leaves nothing; this experiment has {there}")
        told = {name: value for name, value in self.told.items() if name not in LENGTHS}
        known = {name for variant in kept for name in get_decoder(variant.decoder).Settings.allowed()}
        if unknown := set(told) - known:
            raise InputError(f"{min(unknown)[:60]!r} is a setting of none of the decoders that are run")
        kept = [replace(variant, settings={**variant.settings, **own(variant.decoder, told)}) for variant in kept]
        if self.seeds > 1:
            kept = [
                Variant(f"{v.name} seed={seed}", v.decoder, {**v.settings, "seed": seed})
                for v in kept
                for seed in range(self.seeds)
            ]
        names = [variant.name for variant in kept]
        if twice := [name for name in names if names.count(name) > 1]:
            raise InputError(f"variant {twice[0]!r} is there twice")
        return kept


def pairs(what: str, words: Sequence[str]) -> dict[str, str]:
    """Words of the form name=value."""
    found = {}
    for word in words:
        name, sign, value = word.partition("=")
        if not sign or not name:
            raise InputError(f"{what} {word[:60]!r} is not allowed; write NAME=VALUE")
        found[name.strip().replace("-", "_")] = value.strip()
    return found


def parse(text: str) -> Variant:
    """A decoder and its settings, as in "dard tau_u=0.7"."""
    try:
        name, *words = shlex.split(text)
    except ValueError:
        raise InputError(f"--variants {text[:60]!r} is not allowed; write 'DECODER NAME=VALUE …'") from None
    decoder, given = get_decoder(name), pairs("--variants", words)
    kind = decoder.Settings
    if unknown := set(given) - set(kind.names()):
        raise InputError(f"{min(unknown)[:60]!r} is not a setting of {name}; there are {', '.join(kind.allowed())}")
    values = {kind.names()[key]: value for key, value in given.items()}
    return variant_of(decoder, own(name, values))


def own(decoder: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Those values that are settings of a decoder, in their proper types."""
    allowed = get_decoder(decoder).Settings.allowed()
    return {
        name: allowed[name].check(name, None if value == "" else value)
        for name, value in values.items()
        if name in allowed
    }
