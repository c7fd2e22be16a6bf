"""Where the files that come with the project are: the embedded model, gallery, lessons, scripts, recorded results."""

from __future__ import annotations

from pathlib import Path


def assets(name: str) -> Path:
    """A folder of the assets: inside the package where that is installed, beside it in a checkout.

    >>> (assets("model") / "config.json").is_file()
    True
    """
    package = Path(__file__).resolve().parent
    installed = package / "assets"
    return (installed if installed.is_dir() else package.parent / "assets") / name
