"""The Compare tab: several decoders on one prompt."""

from __future__ import annotations

from visual.service import Studio, page_config
from visual.tabs.component import build_component, once


def build_compare(studio: Studio) -> None:
    actions = {"compare": once(studio.compare_lanes), "passes": studio.passes}
    build_component(studio, "mountCompare", page_config(studio), actions)
