"""Reads what all checkpoint folders have in common: config, weights, tokenizer. No code from a folder is ever run.

Weights are safetensors, or pickles of which nothing but tensors is read; a tokenizer is tokenizer.json, or the
vocabulary files of older checkpoints.
A checkpoint that lacks a weight is refused; transformers alone would go on with random numbers. Which class a folder
belongs to is the adapters' business.
"""

from __future__ import annotations

import json
import math
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from transformers import AutoTokenizer, PreTrainedTokenizerFast
from transformers.utils import logging as transformers_logging

from dard.core.errors import InputError
from dard.models.experts import apart, use_what_fits
from dard.models.memory import check_room, memory_guard
from dard.models.placement import Placement
from dard.models.progress import loading

MARK = re.compile(r"<\|[^|<>\s]{1,60}\|>")  # how a template writes what must be one token
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
    settings = read_json(folder, "generation_config.json")
    return {name: value for name, value in settings.items() if name not in NOT_OURS}


def check_switches(what: str, config: dict[str, Any], built_in: Mapping[str, tuple[Any, ...]]) -> None:
    """Refuse, by its name, a switch that makes another network than the one at hand, which has some values built in."""
    for name, allowed in built_in.items():
        if name in config and config[name] not in allowed:
            raise InputError(
                f"config.json of this {what} checkpoint has {name} = {str(config[name])[:40]}, which makes another "
                f"network than there is here; {name} must be {' or '.join(str(value) for value in allowed)}"
            )


def as_config(family: Any, config: dict[str, Any]) -> Any:
    """The config as an object of a transformers class, whatever model type it names itself."""
    return family.from_dict({name: value for name, value in config.items() if name != "model_type"})


def has_safetensors(folder: Path) -> bool:
    return any(folder.glob("*.safetensors"))


def weight_files(folder: Path) -> list[Path]:
    """The files of a folder's weights: safetensors if there are any."""
    whole = "model.safetensors" if has_safetensors(folder) else "pytorch_model.bin"
    if (folder / f"{whole}.index.json").exists():
        where = read_json(folder, f"{whole}.index.json").get("weight_map")
        return [folder / str(name) for name in sorted(set(where.values()))] if isinstance(where, dict) else []
    return [folder / whole]


def count_weights(folder: Path) -> int:
    """How many numbers the weight files hold, read from their headers; 0 if they cannot be read."""
    try:
        return sum(math.prod(shape) for file in weight_files(folder) for shape in shapes(file))
    except Exception:  # a broken pickle raises anything; loading will say what is wrong
        return 0


def shapes(file: Path) -> list[Sequence[int]]:
    """The shapes of the tensors in a file, of which no number is read."""
    if file.suffix == ".safetensors":
        with safe_open(file, "pt") as opened:
            return [opened.get_slice(name).get_shape() for name in opened.keys()]  # noqa: SIM118
    weights = torch.load(file, map_location="meta", weights_only=True)
    return [weight.shape for weight in weights.values() if isinstance(weight, torch.Tensor)]


def load_network(
    folder: Path, family: Any, config: Any, placement: Placement, names: Mapping[str, str] | None = None
) -> Any:
    """The network of a folder as an instance of the transformers class `family`, placed and complete.

    `names` translates weight names: regular expressions to replacements, with one group at most, as transformers
    substitutes \\1 only.
    """
    size = placement.bytes_for(count_weights(folder))
    if placement.device_map is None:  # a device map may put what does not fit elsewhere
        for device in {placement.device, torch.device("cpu")} if placement.moves else {placement.device}:
            check_room(folder.name, size, device)
    if placement.quantise:
        family, config = apart(family, config)
    transformers_logging.disable_progress_bar()  # a second bar in the middle of ours
    with memory_guard(f"model {folder.name!r}", placement.device), loading(placement.tell, size):
        network, info = family.from_pretrained(
            folder,
            config=config,
            **({"key_mapping": dict(names)} if names else {}),
            **placement.arguments(),
            attn_implementation="sdpa",
            local_files_only=True,
            use_safetensors=has_safetensors(folder),
            ignore_mismatched_sizes=True,  # they are refused below, by their names
            weights_only=True,
            output_loading_info=True,
        )
        network = network.to(placement.device) if placement.moves else network
    network.unused_weights = tuple(sorted(str(key) for key in info["unexpected_keys"]))  # for `doctor`
    wrong = sorted(info["missing_keys"]) + sorted(str(key) for key in info["mismatched_keys"])
    if wrong:
        raise InputError(
            f"model folder {folder.name!r} lacks {len(wrong)} weights or has them in another shape, "
            f"the first being {wrong[0]}"
        )
    use_what_fits(network)
    return network


@contextmanager
def without_chatter() -> Iterator[None]:
    """Nothing is printed while a folder is read: transformers warns of every model type it has no code for, LLaDA's
    included, and of keys that published files have."""
    transformers_logging.set_verbosity_error()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        yield


def load_tokenizer(folder: Path, family: Any = AutoTokenizer) -> Any:
    """The folder's tokenizer; a bare tokenizer.json is enough, or the vocabulary of an older checkpoint."""
    there = {path.name for path in folder.iterdir()}
    old = there >= {"vocab.json", "merges.txt"} or there & {"vocab.txt", "sentencepiece.bpe.model"}
    try:
        if "tokenizer_config.json" in there or (old and "tokenizer.json" not in there):
            case = {"do_lower_case": False} if capitals_only(folder) else {}
            return family.from_pretrained(folder, local_files_only=True, trust_remote_code=False, **case)
        if "tokenizer.json" in there:
            return PreTrainedTokenizerFast(tokenizer_file=str(folder / "tokenizer.json"))
    except Exception as error:  # the tokenizers library raises bare Exceptions
        raise InputError(f"the tokenizer of model folder {folder.name!r} is broken: {first_line(error)}") from None
    raise InputError(
        f"model folder {folder.name!r} has no tokenizer.json, and neither vocab.txt nor vocab.json with merges.txt"
    )


def capitals_only(folder: Path) -> bool:
    """Whether a vocabulary without a word on case has capitals and no small letters: lower-cased it knows nothing."""
    told = read_json(folder, "tokenizer_config.json") if (folder / "tokenizer_config.json").exists() else {}
    if "do_lower_case" in told or (folder / "tokenizer.json").exists() or not (folder / "vocab.txt").exists():
        return False
    words = (folder / "vocab.txt").read_text(encoding="utf-8").split()
    letters = "".join(word for word in words if not re.fullmatch(r"\[.*\]|<.*>", word))
    return any(map(str.isupper, letters)) and not any(map(str.islower, letters))


def as_turn(tokenizer: Any, prompt: str, think: bool = False) -> str:
    """A prompt as a conversation of one turn that waits for the answer, and for a thought before it if `think`."""
    return as_turns(tokenizer, [{"role": "user", "content": prompt}], think)


def as_turns(tokenizer: Any, turns: Sequence[Mapping[str, str]], think: bool = False, go_on: bool = False) -> str:
    """A conversation that waits for the answer or, with `go_on`, for the rest of its last turn."""
    how = {"add_generation_prompt": not go_on, "continue_final_message": go_on, "enable_thinking": think}
    return tokenizer.apply_chat_template([dict(turn) for turn in turns], tokenize=False, **how)


def turn_end(tokenizer: Any) -> int | None:
    """The id of the mark with which a chat template closes a turn, if it is one token."""
    turns = [{"role": "user", "content": "a question"}, {"role": "assistant", "content": "an answer"}]
    try:
        text = as_turns(tokenizer, turns)
    except Exception:  # a template may refuse with anything
        return None
    for turn in reversed(turns):
        if mark := MARK.match(text.partition(turn["content"])[2].lstrip()):
            return tokenizer.get_vocab().get(mark[0])
    return None


def mask_token(folder: Path, config: dict[str, Any], tokenizer: Any) -> int:
    """The id of the mask token, from the config or the tokenizer."""
    named = config.get("mask_token_id")
    mask_id = tokenizer.mask_token_id if named is None else named
    if mask_id is None:
        raise InputError(f"model folder {folder.name!r} names no mask token (mask_token_id in config.json)")
    return int(mask_id)


def end_token(config: dict[str, Any], tokenizer: Any) -> int | None:
    """The id of the end-of-text token; the first one if there are several."""
    named = config.get("eos_token_id")
    eos_id = tokenizer.eos_token_id if named is None else named
    return eos_id[0] if isinstance(eos_id, list) else eos_id


def first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:300]
