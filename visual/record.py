"""The gallery as recorded traces: `python -m visual.record` decodes every case of the embedded model anew and writes it
beside its text; what others recorded on theirs stays.

A page that does not offer the embedded model replays these.
"""

from __future__ import annotations

import json

from dard.decoding.session import decode
from dard.models import load_model
from visual.server.cases import GALLERY, recording


def main() -> None:
    model = load_model("embedded")
    for path in sorted(GALLERY.glob("*.json")):
        case = json.loads(path.read_text(encoding="utf-8"))
        if case.get("model", "embedded") != "embedded":
            continue
        trace = decode(model, case["prompt"], case["decoder"], **case["settings"])
        trace.save(recording(path))


if __name__ == "__main__":
    main()
