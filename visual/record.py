"""The gallery as recorded traces: `python -m visual.record` decodes every case anew and writes it beside its text.

A page that does not offer the embedded model replays these.
"""

from __future__ import annotations

import json

import dard
from visual.service import GALLERY


def main() -> None:
    model = dard.load_model("embedded")
    for path in sorted(GALLERY.glob("*.json")):
        case = json.loads(path.read_text(encoding="utf-8"))
        trace = dard.decode(model, case["prompt"], case["decoder"], **case["settings"])
        trace.save(path.with_suffix(".trace.json.gz"))


if __name__ == "__main__":
    main()
