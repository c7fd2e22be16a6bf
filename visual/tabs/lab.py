"""The Lab tab: the paper's experiments, small."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Any

from visual.lab import Lab
from visual.service import Studio
from visual.tabs.component import build_component, file


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
    )


def plotly(_: dict[str, Any]) -> dict[str, Any]:
    """The chart library, for a browser that is about to draw its first chart."""
    return {"kind": "script", "text": plotly_source()}


@cache
def plotly_source() -> str:
    return (resources.files("plotly") / "package_data" / "plotly.min.js").read_text(encoding="utf-8")
