"""The Compare tab: several decoders on one prompt."""

from __future__ import annotations

from visual.server.opening import page_config
from visual.server.studio import Studio
from visual.tabs.component import build_component


def build_compare(studio: Studio) -> None:
    build_component(studio, "mountCompare", page_config(studio))
