"""What results depend on besides their settings: the code, the weights and the machine.

Promises: two runs with equal answers here differ in nothing but chance and speed.
Does not know: what is measured.
"""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

import torch

from dard.core.folders import PACKAGE
from dard.core.prompt import encode_prompt
from dard.core.release import __version__
from dard.models.base import Model

_PER_TENSOR = 256  # values of each weight tensor that enter the fingerprint


def digest(parts: Iterable[bytes]) -> str:
    hashed = hashlib.sha256()
    for part in parts:
        hashed.update(part)
    return hashed.hexdigest()[:16]


@cache
def code_version() -> dict[str, Any]:
    """The library's version, its commit in a checkout, and a hash of the sources that numbers can depend on.

    Read once: a file that is edited later does not change the code that is running.
    """
    paths = [path for path in sorted(PACKAGE.rglob("*.py")) if PACKAGE / "training" not in path.parents]
    sources = digest(path.relative_to(PACKAGE).as_posix().encode() + b"\0" + path.read_bytes() for path in paths)
    return {"version": __version__, "commit": commit(), "sources": sources}


def commit() -> str | None:
    if not (PACKAGE.parent / ".git").exists():
        return None
    command = ["git", "--no-optional-locks", "rev-parse", "--short=12", "HEAD"]
    try:
        done = subprocess.run(command, cwd=PACKAGE, capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def fingerprint(model: Model) -> str | None:
    """A short hash of the weights, so that a model trained anew under its old name is noticed; None without weights."""
    network = getattr(model, "network", None)
    if network is None:
        return None

    def some(weight: torch.Tensor) -> bytes:
        return weight.detach().flatten()[:_PER_TENSOR].to("cpu", torch.float32).numpy().tobytes()

    weights = sorted((name, weight) for name, weight in network.state_dict().items() if not weight.is_meta)
    return digest(f"{name} {tuple(weight.shape)} ".encode() + some(weight) for name, weight in weights)


def encoding(model: Model, prompts: Sequence[str]) -> str:
    """A short hash of the prompts' token ids: a chat template or another tokenizer changes it."""
    frame = [list(getattr(model, name, ())) for name in ("prefix", "suffix")]  # a picture's codes, [CLS] and [SEP]
    return digest(f"{ids} ".encode() for ids in [*(encode_prompt(model, prompt) for prompt in prompts), *frame])


def machine(model: Model) -> dict[str, Any]:
    """Where the time was measured."""
    device = model.device
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
    return {"device": name, "threads": torch.get_num_threads(), "torch": torch.__version__}
