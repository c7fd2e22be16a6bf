"""The Watch tab: one decode, step by step."""

from __future__ import annotations

from visual.server.opening import opening, page_config
from visual.server.studio import Studio
from visual.tabs.component import build_component


def build_watch(studio: Studio) -> None:
    build_component(studio, "mountWatch", page_config(studio) | {"opening": opening(studio)})
