"""The Compare tab: several decoders on one prompt."""

from __future__ import annotations

from visual.service import Studio
from visual.tabs.component import build_component, once


def build_compare(studio: Studio) -> None:
    build_component(studio, "mountCompare", {"compare": once(studio.compare_lanes), "passes": studio.passes})
