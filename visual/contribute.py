"""A recorded decode on its way to others: as a case of the gallery, for a pull request, or into a dataset of the hub.

Promises: what is wrong with a case is one sentence, here and in the tests that look at every case; nothing is written
or sent before all of it was checked.
Does not know: the page, or who may publish what; a case carries a licence because somebody must say so.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

from dard.core.errors import InputError
from dard.core.files import write_whole
from dard.trace import Trace
from visual.hub import check_name, sending
from visual.server.cases import GALLERY, recording
from visual.server.reading import PAGE

CASE_AT_MOST = 256 << 10  # bytes of its trace file: all of them travel with every copy of the project
LICENCES = ("CC0-1.0", "CC-BY-4.0", "CC-BY-SA-4.0", "MIT", "Apache-2.0")
LENGTHS = {"name": (3, 30), "look": (21, 240), "why": (0, 400), "by": (2, 80), "prompt": (1, 4000)}
MODEL = re.compile(r"[\w.-]{2,96}(/[\w.-]{1,96})?", re.ASCII)  # a name or a hub id, and no folder of somebody's
# What nobody means to publish: a folder or an address of a person, a token of the hub.
PRIVATE = re.compile(r"(?:/home/|/Users/|[A-Z]:\\Users\\)[\w.-]+|\b[\w.+-]+@[\w-]+\.[\w.]+\b|\bhf_[A-Za-z0-9]{20,}")
HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f\u200b-\u200f\u202a-\u202e\u2066-\u2069]")


def add_case(trace: Trace, case: dict[str, Any], gallery: Path = GALLERY) -> list[Path]:
    """Write a case beside the others, with its trace; the paths of both files. `case` is what its author says of it:
    `name`, `look`, `licence` and `by`, and perhaps `why`, `step`, `select` and `model`."""
    if not gallery.is_dir():
        raise InputError(f"there is no gallery in {str(gallery)!r}; run this in a checkout of the project")
    told = {"model": trace.model, **case}
    trace.model = told["model"]
    whole = {
        **{name: told.pop(name) for name in ("name", "model")},
        "prompt": trace.prompt,
        "decoder": trace.decoder,
        "settings": dict(trace.settings),
        **told,
        "shows": [],
    }
    data = trace.to_bytes()
    check_case(whole, data)
    there = {json.loads(path.read_text(encoding="utf-8"))["name"] for path in gallery.glob("*.json")}
    if whole["name"] in there:
        raise InputError(f"name = {whole['name']!r} is not allowed; there is a case of that name")
    numbers = [int(path.name[:2]) for path in gallery.glob("[0-9][0-9]-*.json")]
    slug = re.sub(r"[^a-z0-9]+", "-", whole["name"].lower()).strip("-") or "case"
    path = gallery / f"{max(numbers, default=0) + 1:02}-{slug}.json"
    write_whole(recording(path), data)
    write_whole(path, json.dumps(whole, ensure_ascii=False, indent=2) + "\n")
    return [path, recording(path)]


def check_case(case: dict[str, Any], data: bytes) -> None:
    """Whether a recorded case may stand in the gallery: its size, its text, its licence, and that a page opens it."""
    if len(data) > CASE_AT_MOST:
        raise InputError(
            f"the trace is {len(data) >> 10} KB; a case may have {CASE_AT_MOST >> 10} KB: record a shorter answer, or "
            "put it into a dataset with `dard share`"
        )
    trace = Trace.from_bytes(data, PAGE)
    if not trace.steps:
        raise InputError("the trace has no steps, so there is nothing to see")
    for name, (low, high) in LENGTHS.items():
        length = len(case.get(name, "").strip())
        if not low <= length <= high:
            raise InputError(f"{name} is {length} characters long; it must have {low} to {high}")
    if case.get("licence") not in LICENCES:
        raise InputError(
            f"licence = {str(case.get('licence'))[:60]!r} is not allowed; it must be {' or '.join(LICENCES)}"
        )
    if case["model"] == "embedded":
        raise InputError(
            "the embedded model's cases are decoded anew by tests, so their sentences need claims; see tests/claims.py"
        )
    if case["model"] != trace.model or not MODEL.fullmatch(case["model"]):
        raise InputError(
            f"model = {str(case['model'])[:120]!r} is not allowed; it must be a name or a hub id, owner/name"
        )
    for name, most in (("step", trace.num_steps), ("select", len(trace.fixed) - 1)):
        if not 0 <= case.get(name, 0) <= most:
            raise InputError(f"{name} = {case[name]} is not allowed; the trace has {name}s 0 to {most}")
    for name, text in texts(case, trace):
        if found := HIDDEN.search(text):
            raise InputError(f"{name} holds an invisible character (U+{ord(found[0]):04X}); leave it out")
        if found := PRIVATE.search(text):
            raise InputError(f"{name} holds {found[0][:60]!r}, which looks private; leave it out")


def texts(case: dict[str, Any], trace: Trace) -> Iterator[tuple[str, str]]:
    """All that a reader would see, by where it stands."""
    yield from ((name, case[name]) for name in ("name", "look", "why", "by") if name in case)
    yield "the prompt", trace.prompt.replace("\r", "")
    yield "the answer", trace.text.replace("\r", "")
    yield "a setting", " ".join(map(str, trace.settings.values()))


def share(trace: Trace, dataset: str, name: str, page: str, dry_run: bool = False) -> dict[str, Any]:
    """Put a trace into a dataset of the hub, which is made if need be: what was sent, and the link that opens it.

    A name ends with the trace's own hash, so that a link never comes to show another one.
    """
    from huggingface_hub import HfApi, constants

    check_name("dataset", dataset)
    if not re.fullmatch(r"https?://[^\s?#]+", page):
        raise InputError(f"page = {page[:200]!r} is not allowed; it must be the address of a page, http(s)://…")
    data = trace.to_bytes()
    Trace.from_bytes(data, PAGE)  # what a page would refuse is not worth sending
    stem = re.sub(r"[^\w.-]+", "-", name, flags=re.ASCII).strip("-.")[:60] or "trace"
    file = f"traces/{stem}-{hashlib.sha256(trace.to_bytes(compress=False)).hexdigest()[:10]}.json.gz"
    address = f"{constants.ENDPOINT}/datasets/{dataset}/resolve/main/{quote(file)}"
    if not dry_run:
        api: Any = HfApi()
        with sending(f"dataset {dataset!r}"):
            api.create_repo(dataset, repo_type="dataset", exist_ok=True)
            api.upload_file(
                path_or_fileobj=data, path_in_repo=file, repo_id=dataset, repo_type="dataset",
                commit_message=f"A trace of {trace.decoder} on {trace.model}"[:200],
            )  # fmt: skip
    return {"file": file, "bytes": len(data), "address": address, "link": f"{page}?url={quote(address, safe=':/')}"}
