"""What results depend on besides their settings: the code, the weights and the machine.

Promises: two runs with equal answers here differ in nothing but chance and speed.
Does not know: what is measured.
"""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import torch

import dard
from dard.models.base import Model
from dard.state import encode_prompt

_SOURCES = Path(dard.__file__).resolve().parent
_ROOT = _SOURCES.parent
_PER_TENSOR = 256  # values of each weight tensor that enter the fingerprint


@cache
def code_version() -> dict[str, Any]:
    """The library's version, its commit in a checkout, and a hash of the sources that numbers can depend on.

    Read once: a file that is edited later does not change the code that is running.
    """
    digest = hashlib.sha256()
    for path in sorted(_SOURCES.rglob("*.py")):
        if _SOURCES / "training" not in path.parents:
            digest.update(path.relative_to(_SOURCES).as_posix().encode() + b"\0" + path.read_bytes())
    commit = _git("rev-parse", "--short=12", "HEAD")
    return {"version": dard.__version__, "commit": commit, "sources": digest.hexdigest()[:16]}


def _git(*arguments: str) -> str | None:
    if not (_ROOT / ".git").exists():
        return None
    try:
        done = subprocess.run(
            ["git", "--no-optional-locks", *arguments], cwd=_ROOT, capture_output=True, text=True, timeout=10
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def fingerprint(model: Model) -> str | None:
    """A short hash of the weights, so that a model trained anew under its old name is noticed; None without weights."""
    network = getattr(model, "network", None)
    if network is None:
        return None
    digest = hashlib.sha256()
    for name, weight in sorted(network.state_dict().items()):
        if weight.is_meta:  # kept on disk while it is not needed
            continue
        some = weight.detach().flatten()[:_PER_TENSOR].to("cpu", torch.float32)
        digest.update(f"{name} {tuple(weight.shape)} ".encode() + some.numpy().tobytes())
    return digest.hexdigest()[:16]


def encoding(model: Model, prompts: Sequence[str]) -> str:
    """A short hash of the prompts' token ids: a chat template or another tokenizer changes it."""
    digest = hashlib.sha256()
    for prompt in prompts:
        digest.update(f"{encode_prompt(model, prompt)} ".encode())
    for frame in ("prefix", "suffix"):  # a picture's codes, [CLS] and [SEP]
        digest.update(f"{list(getattr(model, frame, ()))} ".encode())
    return digest.hexdigest()[:16]


def machine(model: Model) -> dict[str, Any]:
    """Where the time was measured."""
    device = model.device
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
    return {"device": name, "threads": torch.get_num_threads(), "torch": torch.__version__}
