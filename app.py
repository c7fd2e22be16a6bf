"""Start the page: `python app.py` is `python -m dard app`, in the file that a Hugging Face Space runs."""

from __future__ import annotations

import os
import sys

if os.environ.get("SPACES_ZERO_GPU"):
    import spaces  # noqa: F401  before torch, which it teaches to wait for a GPU

from dard.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["app", *sys.argv[1:]]))
