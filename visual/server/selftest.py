"""The doctor in brief, before a Space serves its first visitor: whether weights, tokens and a borrowed GPU work there.

Promises: what is wrong is told in sentences and stops nothing; nobody decodes meanwhile.
Does not know: visitors, runs, the page.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from visual.server.models import Models
from visual.server.passes import LOADED, borrowed, on_zero_gpu

PASSES = 240  # about as much time as that many take is asked for


def check(models: Models) -> None:
    """Look at the first model, which is loaded for it, and at every other that is loaded."""
    for name in models.names:
        if name == models.names[0] or name in models.loaded:
            models.checked[name] = found = brief(models, name)
            for sentence in found["wrong"]:
                print(f"dard: {name}: {sentence}", file=sys.stderr)


def brief(models: Models, name: str) -> dict[str, Any]:
    """What the doctor says of one model, beside the GPU where that is borrowed."""
    try:
        model = models.load(name)
        if on_zero_gpu() and model.device.type != "cpu":
            (found,) = borrowed(remote_check)(name, [], PASSES)
        else:
            (found,) = remote_check(name, [], PASSES)
    except Exception as error:  # whatever a hub or a borrowed GPU raises
        return {"ok": False, "wrong": [str(error) or type(error).__name__], "worth_knowing": [], "seconds": 0.0}
    return found


def remote_check(name: str, _sessions: list[Any], _most: int) -> Iterator[dict[str, Any]]:
    """What may run beside a GPU: the report in short."""
    from dard.checkup.doctor import doctor

    report = doctor(LOADED[name], brief=True)
    stopped = [report.stopped] if report.stopped else []
    yield {
        "ok": report.ok,
        "wrong": [f"{each.part}, {each.name}: {each.sentence}" for each in report.failed] + stopped,
        "worth_knowing": [f"{each.part}, {each.name}: {each.sentence}" for each in report.marked("note")],
        "seconds": round(report.seconds, 1),
    }
