"""The Learn tab: a guided tour that drives the viewer."""

from __future__ import annotations

from visual.service import Studio, lessons
from visual.tabs.component import build_component, once


def build_learn(studio: Studio) -> None:
    actions = {
        "start": once(studio.start),
        "advance": studio.advance,
        "compare": once(studio.compare_lanes),
        "passes": studio.passes,
    }
    build_component(studio, "mountLearn", {"lessons": lessons()}, actions)
