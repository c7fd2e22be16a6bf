"""Where the files that come with the project are: the embedded model, gallery, lessons, scripts, recorded results."""

from __future__ import annotations

from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]  # all the library's rooms


def assets(name: str) -> Path:
    """A folder of the assets: inside the package where that is installed, beside it in a checkout.

    >>> (assets("model") / "config.json").is_file()
    True
    """
    installed = PACKAGE / "assets"
    return (installed if installed.is_dir() else PACKAGE.parent / "assets") / name
