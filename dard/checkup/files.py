"""A checkpoint's files, read from their headers before anything is loaded.

Promises: a tensor that is missing, doubled, of another shape or of another type than its siblings is named.
Does not know: which network the tensors make; layers and experts are told by the numbers in their names.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import safe_open

from dard.checkup.report import Notes
from dard.core.errors import InputError
from dard.models.checkpoint import has_safetensors, read_json, weight_files

NUMBER = re.compile(r"(?<=\.)\d+(?=\.)")
FEW = 3  # so many of a kind are there for each that is missing, or it is meant


@dataclass(frozen=True)
class Header:
    """What a file says of a tensor."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    file: str


def headers(folder: Path) -> list[Header]:
    """Every tensor of the weight files, of which no number is read."""
    found = []
    for file in weight_files(folder):
        if file.suffix == ".safetensors":
            with safe_open(file, "pt") as opened:
                for name in opened.keys():  # noqa: SIM118
                    part = opened.get_slice(name)
                    found.append(Header(name, tuple(part.get_shape()), str(part.get_dtype()), file.name))
        else:
            weights = torch.load(file, map_location="meta", weights_only=True)
            found += [
                Header(name, tuple(each.shape), str(each.dtype).removeprefix("torch."), file.name)
                for name, each in weights.items()
                if isinstance(each, torch.Tensor)
            ]
    return found


def files(notes: Notes, folder: Path) -> list[Header]:
    """All that can be told of a folder without loading it; the headers of its tensors."""
    try:
        config = read_json(folder, "config.json")
        notes.add("ok", "config", f"config.json names a model of type {str(config.get('model_type'))[:60]!r}.")
    except InputError as error:
        notes.add("fail", "config", sentence(error))
        return []
    try:
        there = headers(folder)
    except Exception as error:  # a file that is cut off, or no weights at all, makes its readers raise anything
        first = (str(error).strip().splitlines() or [type(error).__name__])[0]
        notes.add("fail", "tensors", f"The weight files of {folder.name!r} cannot be read: {first[:200]}.")
        return []
    shards(notes, folder, there)
    siblings(notes, there)
    return there


def shards(notes: Notes, folder: Path, there: Sequence[Header]) -> None:
    """Every tensor stands in one file, and in the one that the index says."""
    twice = sorted(name for name, count in Counter(each.name for each in there).items() if count > 1)
    index = folder / f"{'model.safetensors' if has_safetensors(folder) else 'pytorch_model.bin'}.index.json"
    told = json.loads(index.read_text(encoding="utf-8"))["weight_map"] if index.exists() else {}
    where = {each.name: each.file for each in there}
    lost = sorted(name for name, file in told.items() if where.get(name) != file)
    unlisted = sorted(name for name in where if told and name not in told)
    numbers = {"tensors": len(where), "files": len({*where.values()})}
    if twice:
        notes.add("fail", "tensors", f"{twice[0]} stands in two files, as do {len(twice) - 1} others.", **numbers)
    elif lost:
        missing = f"The index promises {lost[0]} in {told[lost[0]]}, where it is not"
        notes.add("fail", "tensors", f"{missing}; {len(lost)} in all.", **numbers)
    elif unlisted:
        notes.add("note", "tensors", f"The index does not list {unlisted[0]}; {len(unlisted)} in all.", **numbers)
    else:
        notes.add(
            "ok", "tensors", "{tensors} tensors, each once; files of weights: {files}.".format(**numbers), **numbers
        )


def siblings(notes: Notes, there: Sequence[Header]) -> None:
    """Layers and experts have the same tensors in the same shapes; weights are of one type."""
    gaps, odd = [], []
    groups: dict[str, dict[tuple[int, ...], Header]] = defaultdict(dict)
    for each in there:
        groups[NUMBER.sub("N", each.name)][tuple(int(n) for n in NUMBER.findall(each.name))] = each
    for pattern, members in groups.items():
        if ".N." in pattern:
            gaps += [pattern_of(pattern, place) for place in holes(list(members))]
        common, _ = Counter(each.shape for each in members.values()).most_common(1)[0]
        odd += [f"{m.name} is {list(m.shape)} where others are {list(common)}" for m in members.values()
                if m.shape != common and "expert" in pattern]  # fmt: skip
    if gaps or odd:
        first = f"{gaps[0]} is missing" if gaps else odd[0]
        told = f"{first}, though its siblings are there; {len(gaps) + len(odd)} such tensors."
        notes.add("fail", "siblings", told, missing=gaps[:20])
    else:
        layers = max((len(members) for pattern, members in groups.items() if ".N." in pattern), default=0)
        notes.add("ok", "siblings", f"Layers and experts are complete: up to {layers} of a kind.")
    kinds = Counter(each.dtype for each in there if len(each.shape) > 1)
    told = ", ".join(f"{count} in {kind}" for kind, count in kinds.most_common())
    notes.add("ok" if len(kinds) <= 1 else "note", "types", f"Matrices: {told}.", types=dict(kinds))


def holes(places: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """The places that are left out among those that differ in the last number alone: from 0 on among experts; among
    layers between the first and the last, where it is a few that are left out and not every other one by design.

    >>> holes([(0, 0), (0, 2), (1, 0), (1, 1), (1, 2)]), holes([(0,), (1,), (3,), (4,)]), holes([(0,), (2,)])
    ([(0, 1)], [(2,)], [])
    """
    rows: dict[tuple[int, ...], set[int]] = defaultdict(set)
    for place in places:
        rows[place[:-1]].add(place[-1])
    last = max(max(row) for row in rows.values())
    found = []
    for before, row in sorted(rows.items()):
        all_of_them = set(range(last + 1) if before else range(min(row), max(row) + 1))
        missing = sorted(all_of_them - row)
        if before or len(missing) * FEW <= len(row):
            found += [(*before, number) for number in missing]
    return found


def pattern_of(pattern: str, place: tuple[int, ...]) -> str:
    """A name again, of a pattern and its numbers."""
    parts = pattern.split(".N.")
    return parts[0] + "".join(f".{n}.{part}" for n, part in zip(place, parts[1:], strict=True))


def sentence(error: Exception) -> str:
    """An error's words as a sentence."""
    text = str(error).strip()
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")
