"""The machine: versions, devices, kernels, memory and disk, and what a model takes against what there is.

Promises: nothing is fetched and nothing is loaded.
Does not know: what is in a checkpoint, but for the sizes of its files.
"""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import torch

from dard.checkup.report import Notes
from dard.core.release import __version__
from dard.models.memory import GB, SLACK, memory_of
from dard.models.placement import Placement

WATCHED = ("torch", "transformers", "tokenizers", "safetensors", "huggingface_hub", "numpy")
SPARE = 0.5 * GB  # of the disk, beside a download


def pins() -> dict[str, str]:
    """The version of every package that the project was tested with, as its own package or checkout says."""
    try:
        lines = metadata.requires("dard-studio") or []
    except metadata.PackageNotFoundError:
        file = Path(__file__).resolve().parents[2] / "requirements.txt"
        lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
    found = (re.match(r"([\w.-]+)==([\w.]+)\s*$", line) for line in lines)
    return {each[1].replace("-", "_"): each[2] for each in found if each}


def versions(notes: Notes) -> None:
    """Python, and the packages a network depends on."""
    python = platform.python_version()
    mark, words = ("ok", "") if (3, 11) <= sys.version_info[:2] <= (3, 13) else ("note", "; it needs 3.11 to 3.13")
    notes.add(mark, "python", f"Python {python} runs dard-studio {__version__}{words}.", python=python)  # type: ignore[arg-type]
    wanted, other, here = pins(), list[str](), dict[str, str]()
    for name in WATCHED:
        here[name] = metadata.version(name.replace("_", "-")).partition("+")[0]
        if name in wanted and wanted[name] != here[name]:
            other.append(f"{name} {here[name]} instead of {wanted[name]}")
    if not wanted:
        notes.add("note", "versions", "The versions this was tested with cannot be told here.", versions=here)
    elif other:
        told = f"There is {', '.join(other)}: results were tested with the latter."
        notes.add("note", "versions", told, versions=here)
    else:
        shown = ", ".join(f"{name} {here[name]}" for name in WATCHED[:2])
        notes.add("ok", "versions", f"The packages are those this was tested with: {shown} and others.", versions=here)


def device(notes: Notes, placement: Placement) -> None:
    """The device weights would go to, with its driver and the attention kernels PyTorch may take there."""
    where, cards = placement.device, torch.cuda.device_count()
    if where.type == "cuda":
        card = torch.cuda.get_device_properties(where)
        power = ".".join(map(str, torch.cuda.get_device_capability(where)))
        told = f"{card.name} (compute capability {power}), CUDA {torch.version.cuda}, driver {driver() or 'unknown'}"
        if placement.dtype is torch.bfloat16 and not torch.cuda.is_bf16_supported():
            notes.add("fail", "device", f"{told} has no bfloat16; say dtype = 'float16'.", device=card.name)
            return
        notes.add("ok", "device", f"{told}; {cards} of them.", device=card.name, cards=cards, capability=power)
    else:
        built = "is built without CUDA" if torch.version.cuda is None else "finds no GPU"
        beside = f"; PyTorch {built}" if where.type == "cpu" else ""
        told = f"Everything runs on {where}, with {torch.get_num_threads()} threads{beside}."
        notes.add("ok", "device", told, device=str(where))
    backend = torch.backends.cuda
    kernels = {
        "flash": backend.flash_sdp_enabled(),
        "memory-efficient": backend.mem_efficient_sdp_enabled(),
        "cuDNN": backend.cudnn_sdp_enabled(),
        "plain": backend.math_sdp_enabled(),
    }
    names = [name for name, on in kernels.items() if on]
    told = f"Attention may use these kernels of PyTorch: {', '.join(names)}; flash takes no mask of one's own."
    notes.add("ok" if set(names) - {"flash"} else "fail", "kernels", told, kernels=names)


def driver() -> str | None:
    """The version of NVIDIA's driver."""
    try:
        query = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
        return subprocess.run(query, capture_output=True, text=True, timeout=10, check=True).stdout.split()[0]
    except (OSError, subprocess.SubprocessError, IndexError):
        return None


def room(notes: Notes, name: str, weights: int, placement: Placement) -> None:
    """What so many weights take on their device against what is free there; 0 weights: nobody knows."""
    free, total = memory_of(placement.device)
    needed = placement.bytes_for(weights) * SLACK
    kind = f"{placement.quantise} bits" if placement.quantise else str(placement.dtype).removeprefix("torch.")
    if free is None or total is None:
        notes.add("note", "memory", f"The free memory of {placement.device} cannot be told.", needed=needed)
        return
    has = f"{placement.device} has {free / GB:.1f} of {total / GB:.1f} GB free"
    if not weights:
        notes.add("note", "memory", f"What {name} takes is not known before it is fetched; {has}.", free=free)
        return
    told = f"{weights / 1e6:,.1f} million weights take {needed / GB:.2f} GB in {kind}; {has}."
    if needed <= free:
        notes.add("ok", "memory", told, needed=needed, free=free, weights=weights)
    elif placement.device_map is not None:
        notes.add("note", "memory", f"{told} The device map must put the rest elsewhere.", needed=needed, free=free)
    else:
        fits = [bits for bits in (8, 4) if weights * bits / 8 * SLACK <= free]
        hint = f"In {fits[0]} bits it fits: --quantise {fits[0]}." if fits else "It does not fit in 4 bits either."
        notes.add("fail", "memory", f"{told} {hint}", needed=needed, free=free, weights=weights)


def disk(notes: Notes, place: Path, needed: int) -> None:
    """Room for a download, in the folder it goes to or the nearest one above that is there."""
    while not place.exists():
        place = place.parent
    free = shutil.disk_usage(place).free
    told = f"The download takes {needed / GB:.1f} GB; the disk of the hub's cache has {free / GB:.1f} GB free."
    notes.add("ok" if needed + SPARE <= free else "fail", "disk", told, needed=needed, free=free)
