"""BERT and DistilBERT: plain masked language models, which are diffusion models to a decoder.

`[CLS]` stands before the prompt and `[SEP]` at the end of the region as a given token, so both follow the decoder's own
rules for who sees what; `[SEP]` is the end token and never part of the text. Positions and the mask are given
explicitly; segments are all the first one.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from torch import nn
from transformers import BertConfig, BertForMaskedLM, DistilBertConfig, DistilBertForMaskedLM

from dard.models.asked import Asked
from dard.models.backbone import BackboneModel
from dard.models.checkpoint import as_config, load_network, load_tokenizer
from dard.state import InputError

FAMILIES: dict[str, tuple[Any, Any]] = {
    "bert": (BertConfig, BertForMaskedLM),
    "distilbert": (DistilBertConfig, DistilBertForMaskedLM),
}


def matches(config: dict[str, Any]) -> bool:
    return config.get("model_type") in FAMILIES


def load(folder: Path, config: dict[str, Any], asked: Asked) -> MaskedLanguageModel:
    settings, family = FAMILIES[config["model_type"]]
    network = load_network(folder, family, as_config(settings, config), asked.placement)
    tokenizer = load_tokenizer(folder)
    if tokenizer.cls_token_id is None or tokenizer.sep_token_id is None:
        raise InputError(f"the tokenizer of model folder {folder.name!r} has no [CLS] or no [SEP] token")
    return MaskedLanguageModel.of(folder, config, network, tokenizer, asked, eos_id=tokenizer.sep_token_id)


class MaskedLanguageModel(BackboneModel):
    """An encoder with a masked-language-modelling head."""

    offers = BackboneModel.offers - {"freeze"}  # these encoders take no keys and values from outside
    forward_arguments = {}

    def __init__(self, network: Any, tokenizer: Any, **values: Any) -> None:
        super().__init__(network, tokenizer, **values)
        self.head = whole_head(network)
        self.prefix = (tokenizer.cls_token_id,)
        self.suffix = (tokenizer.sep_token_id,)


def whole_head(network: Any) -> nn.Module:
    """Everything between the last layer and the logits: these heads transform and normalise before they project."""
    if isinstance(network, BertForMaskedLM):
        return network.cls
    return nn.Sequential(network.vocab_transform, network.activation, network.vocab_layer_norm, network.vocab_projector)
