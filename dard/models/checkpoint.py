"""Reads what all checkpoint folders have in common: config, weights, tokenizer. No code from a folder is ever run.

A checkpoint that lacks a weight is refused; transformers alone would go on with random numbers. Which class a folder
belongs to is the adapters' business.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from transformers import AutoTokenizer, PreTrainedTokenizerFast
from transformers.utils import logging as transformers_logging

from dard.models.memory import check_room, memory_guard
from dard.models.placement import Placement
from dard.state import InputError

NOT_OURS = ("temperature", "seed", "steps")  # settings of other samplers, though they bear names of ours


def read_json(folder: Path, file: str) -> dict[str, Any]:
    """An object from a JSON file of the folder."""
    try:
        value = json.loads((folder / file).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"model folder {folder.name!r} has no readable {file} ({error})") from None
    if not isinstance(value, dict):
        raise InputError(f"{file} of model folder {folder.name!r} is not an object")
    return value


def read_settings(folder: Path) -> dict[str, Any]:
    """Decoder settings a checkpoint brings along in generation_config.json."""
    if not (folder / "generation_config.json").exists():
        return {}
    found = read_json(folder, "generation_config.json")
    return {name: value for name, value in found.items() if name not in NOT_OURS}


def as_config(family: Any, config: dict[str, Any]) -> Any:
    """The config as an object of a transformers class, whatever model type it names itself."""
    return family.from_dict({name: value for name, value in config.items() if name != "model_type"})


def weight_files(folder: Path) -> list[Path]:
    if (folder / "model.safetensors.index.json").exists():
        where = read_json(folder, "model.safetensors.index.json").get("weight_map")
        return [folder / str(name) for name in sorted(set(where.values()))] if isinstance(where, dict) else []
    return [folder / "model.safetensors"]


def count_weights(folder: Path) -> int:
    """How many numbers the weight files hold, read from their headers; 0 if they cannot be read."""
    total = 0
    try:
        for file in weight_files(folder):
            with safe_open(file, "pt") as opened:
                total += sum(math.prod(opened.get_slice(name).get_shape()) for name in opened.keys())  # noqa: SIM118
    except (OSError, SafetensorError):
        return 0
    return total


def load_network(
    folder: Path, family: Any, config: Any, placement: Placement, names: Mapping[str, str] | None = None
) -> Any:
    """The network of a folder as an instance of the transformers class `family`, placed and complete.

    `names` translates weight names: regular expressions to replacements, with one group at most, as transformers
    substitutes \\1 only.
    """
    if placement.device_map is None:  # a device map may put what does not fit elsewhere
        check_room(folder.name, placement.bytes_for(count_weights(folder)), placement.device)
    transformers_logging.disable_progress_bar()  # a second bar in the middle of ours
    transformers_logging.set_verbosity_error()  # it warns of every model type it has no code for, LLaDA's included
    with memory_guard(f"model {folder.name!r}", placement.device):
        network, info = family.from_pretrained(
            folder,
            config=config,
            **({"key_mapping": dict(names)} if names else {}),
            **placement.arguments(),
            attn_implementation="sdpa",
            local_files_only=True,
            use_safetensors=True,
            output_loading_info=True,
        )
        network = network.to(placement.device) if placement.moves else network
    wrong = sorted(info["missing_keys"]) + sorted(str(key) for key in info["mismatched_keys"])
    if wrong:
        raise InputError(
            f"model folder {folder.name!r} lacks {len(wrong)} weights or has them in another shape, "
            f"the first being {wrong[0]}"
        )
    return network


def load_tokenizer(folder: Path, family: Any = AutoTokenizer) -> Any:
    """The folder's tokenizer; a bare tokenizer.json is enough."""
    try:
        if (folder / "tokenizer_config.json").exists():
            return family.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
        if (folder / "tokenizer.json").exists():
            return PreTrainedTokenizerFast(tokenizer_file=str(folder / "tokenizer.json"))
    except Exception as error:  # the tokenizers library raises bare Exceptions
        raise InputError(f"the tokenizer of model folder {folder.name!r} is broken: {first_line(error)}") from None
    raise InputError(f"model folder {folder.name!r} has no tokenizer.json")


def as_turn(tokenizer: Any, prompt: str) -> str:
    """A prompt as a conversation of one turn that waits for the answer."""
    turn = [{"role": "user", "content": prompt}]
    return tokenizer.apply_chat_template(turn, tokenize=False, add_generation_prompt=True, enable_thinking=False)


def mask_token(folder: Path, config: dict[str, Any], tokenizer: Any) -> int:
    """The id of the mask token, from the config or the tokenizer."""
    named = config.get("mask_token_id")
    found = tokenizer.mask_token_id if named is None else named
    if found is None:
        raise InputError(f"model folder {folder.name!r} names no mask token (mask_token_id in config.json)")
    return int(found)


def end_token(config: dict[str, Any], tokenizer: Any) -> int | None:
    """The id of the end-of-text token; the first one if there are several."""
    named = config.get("eos_token_id")
    found = tokenizer.eos_token_id if named is None else named
    return found[0] if isinstance(found, list) else found


def first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:300]
