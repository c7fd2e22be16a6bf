"""What a page is built from: the settings of every decoder, the models, the gallery, and the case it opens on.

Promises: plain JSON; every number in it was computed by the code that is running.
Does not know: how the page uses it.
"""

from __future__ import annotations

import json
from typing import Any

from dard.core.settings import Settings
from dard.decoders import DECODERS
from dard.decoding.session import COMPARED
from dard.models.registry import find_card
from dard.trace import Trace
from dard.trace.annotations import verdict
from visual.payload import payload, sentence
from visual.server.cases import gallery
from visual.server.images import TOGETHER_AT_MOST
from visual.server.models import sees_pictures
from visual.server.requests import COMPARED_AT_MOST, PROMPT_AT_MOST, UPLOAD_AT_MOST, DecodeRequest
from visual.server.studio import Studio


def page_config(studio: Studio) -> dict[str, Any]:
    """What the page is built from: the settings of every decoder, the models and the gallery."""
    names = studio.models.names
    return {
        "models": list(names),
        "cards": {name: card_words(name) for name in names},
        "decoders": describe_decoders(any(map(begins_as_noise, names))),
        "defaults": {name: studio.models.defaults(name) for name in names},
        "gallery": gallery(),
        "compared": list(COMPARED),
        "limits": {
            "prompt": PROMPT_AT_MOST,
            "region": studio.positions,
            "compared": COMPARED_AT_MOST,
            "upload": UPLOAD_AT_MOST,
            "images": TOGETHER_AT_MOST,
        },
    }


def describe_decoders(noise: bool = False) -> list[dict[str, Any]]:
    """The decoders and what each of their settings may be; those of noise only where a model begins as noise."""
    return [
        {
            "name": decoder.name,
            "title": decoder.title,
            "settings": [describe_setting(name, decoder.Settings) for name in decoder.Settings.allowed()],
            "presets": decoder.presets,
        }
        for decoder in DECODERS.values()
        if noise or "noise" not in decoder.needs
    ]


def begins_as_noise(name: str) -> bool:
    """Whether a model knows no mask; only for one that does not there are decoders of noise."""
    card = find_card(name)
    if card is None:
        from dard.models import families

        return families.begins_as_noise(name)
    return card.noise


def card_words(name: str) -> dict[str, Any]:
    """What the page says of a model, and whether it takes pictures."""
    card = find_card(name)
    if card is None:
        seeing = sees_pictures(name)  # those are also told how to think
        return {"about": "a folder or hub repository", "images": seeing, "think": seeing}
    about = f"{card.title}; {card.parameters} parameters, {card.memory}; {card.licence}; {card.origin}"
    return {"about": about, "images": card.images, "think": card.think}


def describe_setting(name: str, kind: Any) -> dict[str, Any]:
    allowed = kind.allowed()[name]
    return {
        "name": name,
        "own": name not in Settings.allowed(),
        "symbol": allowed.symbol,
        "kind": allowed.kind.__name__,
        "default": kind.__dataclass_fields__[name].default,
        "low": allowed.low,
        "high": allowed.high,
        "choices": list(allowed.choices),
        "optional": allowed.optional,
        "below": allowed.below,
        "help": allowed.help,
        "allowed": allowed.describe(),
    }


def opening(studio: Studio) -> dict[str, Any] | None:
    """The first gallery case as a whole, and what others make of it, so that the page opens without asking; None where
    that would mean loading a large model."""
    cases = gallery()
    if not cases or not (studio.models.named("") == "embedded" or studio.models.there("")):
        return None
    case = cases[0]

    def decode(lane: dict[str, Any]) -> Trace:
        asked = {"prompt": case["prompt"], "decoder": lane["decoder"], "settings": lane["settings"]}
        return studio.decode(DecodeRequest.of(asked))

    others = [
        other_words(decode(lane), lane["settings"]) for lane in case["lanes"] if lane["decoder"] != case["decoder"]
    ]
    opened = {"payload": payload(decode(case)), "others": others}
    return json.loads(json.dumps(opened))  # what is written into the page has text as keys


def other_words(trace: Trace, settings: dict[str, Any]) -> dict[str, Any]:
    """What another decoder made of the opening's prompt."""
    free = [i for i, given in enumerate(trace.fixed) if not given]
    known = DECODERS[trace.decoder].Settings.allowed()
    return {
        "name": trace.about.title or trace.decoder,
        "setting": " ".join(f"{known[name].symbol or name} = {trace.settings[name]}" for name in settings),
        "answer": sentence(" ".join(trace.word(trace.steps[-1].tokens[i]) for i in free), 200),
        "right": verdict(trace, trace.steps[-1]),
        "passes": trace.num_steps,
    }
