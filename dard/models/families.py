"""Which adapter reads a checkpoint folder: the first whose `matches` says yes to its config."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import ModuleType

from dard.core.errors import InputError
from dard.models import diffusion_gemma, llada, llada2, llada_moe, mask_filling, masked_lm, mmada
from dard.models.base import Model
from dard.models.checkpoint import first_line, read_json, read_settings, without_chatter
from dard.models.loading import LoadOptions
from dard.models.registry import READABLE

# Each module has `matches(config)`, `load(folder, config, asked)` and `COMPARED`: with what its families were compared,
# and what of them never ran here; and in `MAY_BE_TOLD` what of `attention` and `shift` a user may say. MMaDA and
# LLaDA-MoE before LLaDA, whose keys or type they share.
ADAPTERS: tuple[ModuleType, ...] = (mmada, llada_moe, llada, llada2, mask_filling, masked_lm, diffusion_gemma)


def sees_pictures(folder: str) -> bool:
    """Whether the model in a folder, which is not loaded for it, takes pictures; one that cannot be read does not."""
    try:
        return mmada.matches(read_json(Path(folder), "config.json"))
    except InputError:
        return False


def begins_as_noise(folder: str) -> bool:
    """The same of one that knows no mask."""
    try:
        return diffusion_gemma.matches(read_json(Path(folder), "config.json"))
    except InputError:
        return False


def told_for_nothing(name: str, adapter: ModuleType, asked: LoadOptions) -> bool:
    return getattr(asked, name) is not None and name not in getattr(adapter, "MAY_BE_TOLD", ())


def load_folder(folder: Path, asked: LoadOptions) -> Model:
    """The model in a folder."""
    config = read_json(folder, "config.json")
    asked = replace(asked, defaults={**asked.defaults, **read_settings(folder)})
    for adapter in ADAPTERS:
        if adapter.matches(config):
            if told := [name for name in ("attention", "shift") if told_for_nothing(name, adapter, asked)]:
                raise InputError(
                    f"{told[0]} cannot be said of model folder {folder.name!r}: it is known of "
                    f"{config.get('model_type')!r}, and said only where a checkpoint's files do not tell"
                )
            try:
                with without_chatter():
                    return adapter.load(folder, config, asked)
            except InputError:
                raise
            except Exception as error:  # what a broken folder makes transformers raise can be anything
                raise InputError(f"model folder {folder.name!r} could not be loaded: {first_line(error)}") from error
    raise InputError(
        f"model folder {folder.name!r} holds a model of type {str(config.get('model_type'))[:60]!r}, "
        f"which has no adapter here; there are adapters for {READABLE}"
    )
