"""Puts the page online as a Hugging Face Space: what it needs to run, and nothing else, uploaded by huggingface_hub.

    python -m visual.space owner/name --dry-run

Promises: the front matter is checked before anything is sent; what is no longer needed there is removed in the same
commit. The hub refuses plain git pushes that hold weights, pictures or traces, so the files go through its own client.
Does not know: tokens, or what the hub answers when it refuses.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dard.core.errors import InputError
from visual.hub import check_name, sending

ROOT = Path(__file__).resolve().parents[1]
# Of the results the charts and tables; their rows are many, and the page shows the rest without them.
NEEDED = (
    "app.py", "README.md", "LICENSE", "requirements.txt", "requirements.lock", "dard/**/*.py", "visual/**/*.py",
    "assets/gallery/*", "assets/learn/*", "assets/model/*", "assets/web/**/*", "assets/results/*.figure.json",
    "assets/results/*.md",
)  # fmt: skip
COLOURS = ("red", "yellow", "green", "blue", "indigo", "purple", "pink", "gray")
PYTHONS = ("3.12",)  # of ours, the one that a Space with a borrowed GPU can have
FIELDS = ("title", "emoji", "colorFrom", "colorTo", "sdk", "sdk_version", "python_version", "app_file", "license")


def files(root: Path = ROOT) -> list[str]:
    """What a Space needs, by its path in the project."""
    paths = {path for pattern in NEEDED for path in root.glob(pattern) if path.is_file()}
    return sorted(path.relative_to(root).as_posix() for path in paths)


def front_matter(root: Path = ROOT) -> dict[str, str]:
    """What the README tells the hub, checked."""
    block = re.match(r"---\n(.*?)\n---\n", (root / "README.md").read_text(encoding="utf-8"), re.S)
    matter = dict(line.split(": ", 1) for line in block[1].splitlines()) if block else {}
    gradio = re.search(r"^gradio==(\S+)", (root / "requirements.txt").read_text(encoding="utf-8"), re.M)
    wanted: dict[str, tuple[str, ...]] = {
        "sdk": ("gradio",),
        "sdk_version": (gradio[1] if gradio else "",),
        "python_version": tuple(f'"{version}"' for version in PYTHONS),
        "colorFrom": COLOURS,
        "colorTo": COLOURS,
    }
    for name in FIELDS:
        value = matter.get(name, "")
        if not value or value not in wanted.get(name, (value,)):
            allowed = " or ".join(wanted.get(name, ("some text",)))
            raise InputError(f"README.md's front matter has {name} = {value!r}; it must be {allowed}")
    if not (root / matter["app_file"]).is_file():
        raise InputError(f"README.md's front matter names {matter['app_file']!r}, which is not there")
    if len(matter.get("short_description", "")) > 60:
        raise InputError("README.md's front matter has a short_description of more than 60 characters")
    return matter


def upload(space: str, root: Path = ROOT) -> str:
    """Create the Space if it is not there, and make it hold these files and no others. Returns its address."""
    from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi

    api: Any = HfApi()
    needed = files(root)
    with sending(f"Space {space!r}"):
        api.create_repo(space, repo_type="space", space_sdk="gradio", exist_ok=True)
        there = set(api.list_repo_files(space, repo_type="space"))
        gone = sorted(there - {*needed, ".gitattributes"})
        operations = [CommitOperationAdd(name, root / name) for name in needed]
        operations += [CommitOperationDelete(name) for name in gone]
        api.create_commit(space, operations, commit_message="DARD Studio", repo_type="space")
    return f"https://huggingface.co/spaces/{space}"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Put the page online as a Hugging Face Space.")
    parser.add_argument("space", help="owner/name")
    parser.add_argument("--dry-run", action="store_true", help="list what would be uploaded, and send nothing")
    args = parser.parse_args(arguments)
    try:
        check_name("space", args.space)
        front_matter()
        if args.dry_run:
            sizes = {name: (ROOT / name).stat().st_size for name in files()}
            for name, size in sizes.items():
                print(f"{size:>10,}  {name}")
            print(f"{sum(sizes.values()):>10,}  bytes in {len(sizes)} files for {args.space}")
        else:
            print(upload(args.space))
    except InputError as error:
        print(f"dard: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
