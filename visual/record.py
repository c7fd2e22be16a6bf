"""The gallery as recorded traces: `python -m visual.record` decodes every case anew and writes it beside its text.

A page that does not offer the embedded model replays these.
"""

from __future__ import annotations

import json

from dard.decoding.session import decode
from dard.models import load_model
from visual.server.cases import GALLERY


def main() -> None:
    model = load_model("embedded")
    for path in sorted(GALLERY.glob("*.json")):
        case = json.loads(path.read_text(encoding="utf-8"))
        trace = decode(model, case["prompt"], case["decoder"], **case["settings"])
        trace.save(path.with_suffix(".trace.json.gz"))


if __name__ == "__main__":
    main()
