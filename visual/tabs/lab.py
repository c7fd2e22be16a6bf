"""The Lab tab: the paper's experiments, small."""

from __future__ import annotations

from visual.server.lab import Lab
from visual.server.studio import Studio
from visual.tabs.component import build_component


def build_lab(studio: Studio) -> None:
    lab = Lab(studio.models.load)
    config = {"models": list(studio.models.names), **lab.offer()}
    # A queue of its own: an experiment takes minutes, and decodes must not wait for it.
    build_component(studio, "mountLab", config, room=lab, queue="lab", at_once=1)
