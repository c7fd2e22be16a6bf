"""The Learn tab: a guided tour that drives the viewer."""

from __future__ import annotations

from visual.server.cases import lessons
from visual.server.opening import describe_decoders
from visual.server.studio import Studio
from visual.tabs.component import build_component


def build_learn(studio: Studio) -> None:
    build_component(studio, "mountLearn", {"lessons": lessons(), "decoders": describe_decoders()})
