"""The Watch tab: one decode, step by step."""

from __future__ import annotations

from visual.service import Studio, opening, page_config
from visual.tabs.component import build_component, once


def build_watch(studio: Studio) -> None:
    actions = {"start": once(studio.start), "advance": studio.advance, "branch": once(studio.branch)}
    build_component(studio, "mountWatch", page_config(studio) | {"opening": opening(studio)}, actions)
