"""LLaDA2.0 and LLaDA2.1 (mini, flash): a Glm4-MoE under other names, block-causal in blocks of 32.

Config keys and weight names are translated, and the one matrix of queries, keys and values is split into its unequal
parts while it streams in; then transformers loads a Glm4-MoE. Nothing of the published code is run. What makes another
network is refused by its name: scaled rotation, biases, another score function, routing by blocks, tokens that insert
and delete, a normed head. Blocks are counted from the first token of the prompt, whose tail shares one with the first
tokens of the answer; a position is predicted where it stands.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from transformers import Glm4MoeConfig, Glm4MoeForCausalLM
from transformers.conversion_mapping import register_checkpoint_conversion_mapping
from transformers.core_model_loading import Split, WeightConverter, WeightRenaming

from dard.core.errors import InputError
from dard.models.backbone import BackboneModel
from dard.models.checkpoint import check_switches, load_network, load_tokenizer
from dard.models.loading import LoadOptions

BLOCK = 32  # no file of a checkpoint says it
MASK, END = 156895, 156892  # neither config nor tokenizer need name them
TURN_END = "<|role_end|>"
MAY_BE_TOLD = ("attention",)

# What a Glm4-MoE, or the way it is driven here, has built in; a key that is not there counts as the published default.
GLM: dict[str, tuple[Any, ...]] = {
    "block_size": (None, BLOCK),
    "delete_token_id": (None,),
    "expert_capacity": (None,),
    "hidden_act": ("silu",),
    "moe_router_enable_expert_bias": (True,),
    "norm_head": (False,),
    "rope_scaling": (None,),
    "score_function": ("sigmoid",),
    "split_token_id": (None,),
    "use_bias": (False,),
    "use_qkv_bias": (False,),
    "use_sliding_window": (False,),
}
PUBLISHED: dict[str, Any] = {"use_bias": True, "partial_rotary_factor": 0.5, "use_qk_norm": True, "head_dim": None}

COMPARED = {
    "LLaDA2.0, LLaDA2.1": (
        "the network written out from what is known of it, expert by expert; editing against the published rule; its "
        "own way of generating, by its tokens (`tests/models/test_llada2.py`)",
        "16 B and 103 B weights; config.json and the tokenizer as they are on the hub; 4 bits on a GPU",
    ),
}


class LLaDA2(Glm4MoeForCausalLM):
    """By this name transformers finds what is to be done with a checkpoint's weights."""

    @classmethod
    def _can_set_experts_implementation(cls) -> bool:
        """As its parent can; transformers looks for it in the text of this file."""
        return True


WEIGHTS = [
    WeightRenaming(r"^model\.word_embeddings\.", "model.embed_tokens."),
    WeightRenaming(r"\.attention\.query_layernorm\.", ".self_attn.q_norm."),
    WeightRenaming(r"\.attention\.key_layernorm\.", ".self_attn.k_norm."),
    WeightRenaming(r"\.attention\.dense\.", ".self_attn.o_proj."),
    WeightRenaming(r"\.mlp\.gate\.expert_bias$", ".mlp.gate.e_score_correction_bias"),
    WeightConverter(
        "attention.query_key_value.weight",
        [f"self_attn.{part}_proj.weight" for part in "qkv"],
        [Split(dim=0)],
    ),
]
register_checkpoint_conversion_mapping(LLaDA2.__name__, WEIGHTS, overwrite=True)


def matches(config: dict[str, Any]) -> bool:
    return config.get("model_type") == "llada2_moe"


def load(folder: Path, config: dict[str, Any], asked: LoadOptions) -> BackboneModel:
    config = PUBLISHED | config
    check_switches("LLaDA2", config, GLM)
    tokenizer = load_tokenizer(folder)
    named = {"mask_token_id": tokenizer.mask_token_id, "eos_token_id": tokenizer.eos_token_id}
    ids = {"mask_token_id": MASK, "eos_token_id": config.get("pad_token_id", END)}
    ids |= {name: value for name, value in (named | config).items() if name in ids and value is not None}
    glm = glm_config(config, ids)
    check_groups(glm)
    network = load_network(folder, LLaDA2, glm, asked.placement)
    model = BackboneModel.of(folder, config | ids, network, tokenizer, asked, block_size=asked.block_size(BLOCK))
    mark = tokenizer.get_vocab().get(TURN_END)
    model.end_ids = model.end_ids or (() if mark is None else (mark,))  # a tokenizer may have no template to tell it
    return model


def check_groups(glm: Any) -> None:
    """Refuse experts that cannot be chosen group by group."""
    experts, groups, looked = glm.n_routed_experts, glm.n_group, glm.topk_group
    if groups < 1 or experts % groups or looked > groups or glm.num_experts_per_tok > looked * (experts // groups):
        raise InputError(
            f"config.json of this LLaDA2 checkpoint has num_experts = {experts}, n_group = {groups}, topk_group = "
            f"{looked} and num_experts_per_tok = {glm.num_experts_per_tok}, which do not fit together"
        )


def glm_config(config: dict[str, Any], ids: dict[str, Any]) -> Glm4MoeConfig:
    """LLaDA2's config in Glm4-MoE's words."""
    try:
        return Glm4MoeConfig(
            vocab_size=config["vocab_size"],
            hidden_size=config["hidden_size"],
            intermediate_size=config["intermediate_size"],
            num_hidden_layers=config["num_hidden_layers"],
            num_attention_heads=config["num_attention_heads"],
            num_key_value_heads=config["num_key_value_heads"],
            head_dim=config["head_dim"] or config["hidden_size"] // config["num_attention_heads"],
            use_qk_norm=config["use_qk_norm"],
            max_position_embeddings=config["max_position_embeddings"],
            rope_parameters={
                "rope_type": "default",
                "rope_theta": float(config["rope_theta"]),
                "partial_rotary_factor": config["partial_rotary_factor"],
            },
            rms_norm_eps=config["rms_norm_eps"],
            n_routed_experts=config["num_experts"],
            num_experts_per_tok=config["num_experts_per_tok"],
            n_shared_experts=config["num_shared_experts"],
            n_group=config["n_group"],
            topk_group=config["topk_group"],
            norm_topk_prob=config.get("norm_topk_prob", True) and config["num_experts_per_tok"] > 1,
            routed_scaling_factor=config["routed_scaling_factor"],
            moe_intermediate_size=config["moe_intermediate_size"],
            first_k_dense_replace=config["first_k_dense_replace"],
            tie_word_embeddings=bool(config.get("tie_word_embeddings", False)),
            bos_token_id=None,
            num_mtp_layers=0,
            **ids,
        )
    except KeyError as missing:
        raise InputError(f"config.json of this LLaDA2 checkpoint has no {missing.args[0]!r}") from None
