"""BERT, DistilBERT, RoBERTa and its kin, ModernBERT: plain masked language models, diffusion models to a decoder.

`[CLS]` stands before the prompt and `[SEP]` at the end of the region as a given token, so both follow the decoder's own
rules for who sees what; `[SEP]` is the end token and never part of the text. Positions and the mask are given
explicitly; segments are all the first one. RoBERTa counts positions from behind its padding token's id; two of three
layers of ModernBERT see near positions only, whatever the mask allows.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from torch import nn
from transformers import (
    BertConfig,
    BertForMaskedLM,
    CamembertConfig,
    CamembertForMaskedLM,
    DistilBertConfig,
    DistilBertForMaskedLM,
    ModernBertConfig,
    ModernBertForMaskedLM,
    RobertaConfig,
    RobertaForMaskedLM,
    XLMRobertaConfig,
    XLMRobertaForMaskedLM,
)

from dard.core.errors import InputError
from dard.models.backbone import BackboneModel
from dard.models.base import Question
from dard.models.checkpoint import as_config, load_network, load_tokenizer
from dard.models.loading import LoadOptions

FAMILIES: dict[str, tuple[Any, Any]] = {
    "bert": (BertConfig, BertForMaskedLM),
    "distilbert": (DistilBertConfig, DistilBertForMaskedLM),
    "roberta": (RobertaConfig, RobertaForMaskedLM),
    "xlm-roberta": (XLMRobertaConfig, XLMRobertaForMaskedLM),
    "camembert": (CamembertConfig, CamembertForMaskedLM),
    "modernbert": (ModernBertConfig, ModernBertForMaskedLM),
}
BEHIND_PADDING = ("roberta", "xlm-roberta", "camembert")  # position 0 stands in row padding + 1 of the table

COMPARED = {
    "BERT, DistilBERT, RoBERTa, ModernBERT": (
        "transformers' own classes (`tests/models/test_families.py`, `tests/models/test_masked_lm.py`); AntiBERTy, a "
        "BERT of 26 M with its published weights (`tests/contact/test_antiberty.py`)",
        "the weights of the four named here",
    ),
}


def matches(config: dict[str, Any]) -> bool:
    return config.get("model_type") in FAMILIES


def load(folder: Path, config: dict[str, Any], asked: LoadOptions) -> MaskedLanguageModel:
    settings, family = FAMILIES[config["model_type"]]
    network = load_network(folder, family, as_config(settings, config), asked.placement)
    tokenizer = load_tokenizer(folder)
    if tokenizer.cls_token_id is None or tokenizer.sep_token_id is None:
        raise InputError(f"the tokenizer of model folder {folder.name!r} has no [CLS] or no [SEP] token")
    first = network.config.pad_token_id + 1 if config["model_type"] in BEHIND_PADDING else 0
    longest = int(network.config.max_position_embeddings) - first
    model = MaskedLanguageModel.of(
        folder, config, network, tokenizer, asked, eos_id=tokenizer.sep_token_id, max_length=longest
    )
    model.first_position = first
    return model


class MaskedLanguageModel(BackboneModel):
    """An encoder with a masked-language-modelling head."""

    offers = BackboneModel.offers - {"freeze"}  # these encoders take no keys and values from outside
    first_position = 0

    def __init__(self, network: Any, tokenizer: Any, **values: Any) -> None:
        super().__init__(network, tokenizer, **values)
        self.head = whole_head(network)
        self.prefix = (tokenizer.cls_token_id,)
        self.suffix = (tokenizer.sep_token_id,)
        window = getattr(network.config, "local_attention", None)
        self.forward_arguments = {} if window is None else {"window": window // 2}

    def as_trained(self, question: Question) -> Question:
        return replace(question, positions=question.positions + self.first_position)


def whole_head(network: Any) -> nn.Module:
    """Everything between the last layer and the logits: these heads transform and normalise before they project."""
    if isinstance(network, BertForMaskedLM):
        return network.cls
    if isinstance(network, DistilBertForMaskedLM):
        parts = (network.vocab_transform, network.activation, network.vocab_layer_norm, network.vocab_projector)
        return nn.Sequential(*parts)
    if isinstance(network, ModernBertForMaskedLM):
        return nn.Sequential(network.head, network.decoder)
    return network.lm_head
