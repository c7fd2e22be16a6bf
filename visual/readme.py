"""The pictures in the README: `python -m visual.readme` decodes the first gallery case and draws it anew."""

from __future__ import annotations

from typing import Any

import dard
from visual.pictures import gif, png
from visual.service import ASSETS, gallery

PICTURES = ASSETS / "pictures"


def main() -> None:
    case: dict[str, Any] = gallery()[0]
    trace = dard.decode(dard.load_model("embedded"), case["prompt"], case["decoder"], **case["settings"])
    revoking = next((step.index for step in trace.steps if step.demoted), trace.num_steps)
    PICTURES.mkdir(exist_ok=True)
    (PICTURES / "los-diego.png").write_bytes(png(trace, revoking, case["select"], scale=1))
    (PICTURES / "los-diego.gif").write_bytes(gif(trace))


if __name__ == "__main__":
    main()
