"""The Lab tab: the paper's experiments, small."""

from __future__ import annotations

from typing import Any

from visual.lab import Lab, plotly
from visual.service import Studio, file
from visual.tabs.component import build_component


def build_lab(studio: Studio) -> None:
    lab = Lab(studio.model)

    def lab_recorded(request: dict[str, Any]) -> dict[str, Any]:
        return lab.recorded(request)

    def lab_open(request: dict[str, Any]) -> dict[str, Any]:
        return lab.open(request)

    def lab_runs(request: dict[str, Any]) -> dict[str, Any]:
        return lab.runs(request)

    def lab_stop(request: dict[str, Any]) -> dict[str, Any]:
        return lab.stop(request)

    def lab_file(request: dict[str, Any]) -> dict[str, Any]:
        return file(*lab.file(request))

    build_component(
        studio,
        "mountLab",
        {"models": list(studio.models), **lab.offer()},
        {"experiment": lab.experiment},
        calls=(lab_recorded, lab_open, lab_runs, lab_stop, lab_file, plotly),
        queue="lab",  # an experiment takes minutes; decodes must not wait for it
        at_once=1,
    )
