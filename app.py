"""Start the page: `python app.py`, or a Hugging Face Space. Wiring only."""

from __future__ import annotations

import argparse
import os

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")
os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")

from dard.models import CARDS
from visual.page import build_page, launch_options
from visual.service import Studio


def main() -> None:
    parser = argparse.ArgumentParser(description="Watch a diffusion language model decode.")
    parser.add_argument(
        "--model", action="append", help=f"offer this model; may be repeated ({', '.join(CARDS)}, a folder, a hub id)"
    )
    parser.add_argument("--device", help="cpu, cuda, cuda:1, mps")
    parser.add_argument("--dtype", choices=("float32", "bfloat16", "float16"))
    parser.add_argument("--host", default=os.environ.get("GRADIO_SERVER_NAME", "127.0.0.1"))
    parser.add_argument("--port", type=int, default=int(os.environ.get("GRADIO_SERVER_PORT", "7860")))
    args = parser.parse_args()
    studio = Studio(tuple(args.model or ["embedded"]), args.device, args.dtype)
    build_page(studio).launch(server_name=args.host, server_port=args.port, **launch_options())


if __name__ == "__main__":
    main()
