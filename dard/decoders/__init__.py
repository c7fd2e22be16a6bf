"""The decoders by name."""

from __future__ import annotations

from typing import Any

from dard.decoders.base import Decision, Decoder, ask, finish_step, step
from dard.decoders.dard import Dard
from dard.decoders.entropy_bound import EntropyBound
from dard.decoders.saber import Saber
from dard.decoders.standard import Standard
from dard.decoders.threshold import Threshold
from dard.decoders.wino import Wino
from dard.settings import Settings
from dard.state import InputError

__all__ = ["DECODERS", "Decision", "Decoder", "ask", "finish_step", "get_decoder", "make_settings", "step"]

DECODERS: dict[str, Decoder] = {
    decoder.name: decoder for decoder in (Dard(), Wino(), Saber(), Standard(), Threshold(), EntropyBound())
}


def get_decoder(name: str) -> Decoder:
    try:
        return DECODERS[name]
    except (KeyError, TypeError):
        raise InputError(f"unknown decoder {str(name)[:60]!r}; allowed are {', '.join(DECODERS)}") from None


def make_settings(decoder: str, values: dict[str, Any], model: Any = None) -> Settings:
    """A decoder's settings from keyword values; what is not given comes from the model's own defaults, then ours."""
    kind = get_decoder(decoder).Settings
    defaults = {k: v for k, v in getattr(model, "defaults", {}).items() if k in kind.allowed()}
    return kind.of(defaults | values)
