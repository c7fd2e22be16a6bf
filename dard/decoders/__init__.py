"""What to ask a model, and what to make of its answer: one file per decoder, masks and mixing beside them.

Promises: asking and deciding are pure functions of a state; the project's own decoders enter by the door that is open
to everyone, `register_decoder`.
Does not know: loops, sessions, how a model answers, or who shows what came of it.
"""

from __future__ import annotations

from dard.core.plugins import load_packages
from dard.decoders.base import (
    Decision,
    Decoder,
    most_confident,
    plain_question,
    predict_published,
    shadow_question,
    sweep,
)
from dard.decoders.dapd import Dapd
from dard.decoders.dard import Dard
from dard.decoders.edit import Edit
from dard.decoders.entropy_bound import EntropyBound
from dard.decoders.predict import Prediction, probability_of
from dard.decoders.registry import DECODERS, defaults_for, get_decoder, make_settings, register_decoder
from dard.decoders.remix import Remix
from dard.decoders.renoise import Renoise
from dard.decoders.saber import Saber
from dard.decoders.standard import Standard
from dard.decoders.threshold import Threshold
from dard.decoders.wino import Wino

__all__ = [
    "DECODERS",
    "Decision",
    "Decoder",
    "Prediction",
    "defaults_for",
    "get_decoder",
    "make_settings",
    "most_confident",
    "plain_question",
    "predict_published",
    "probability_of",
    "register_decoder",
    "shadow_question",
    "sweep",
]

for _own in (Dard, Wino, Saber, Standard, Threshold, EntropyBound, Dapd, Remix, Edit, Renoise):
    register_decoder(_own)
load_packages("dard.decoders", lambda entry: register_decoder(entry.load()))
