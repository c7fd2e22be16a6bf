"""The training network is a Llama, and its export is a LLaDA folder."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

import dard
from dard.training.export import config_of, export, read_back
from dard.training.muon import Muon, orthogonalise
from dard.training.network import Network, Shape
from dard.training.vocabulary import MASK_ID, word_list


@pytest.fixture(scope="module")
def network() -> Network:
    torch.manual_seed(0)
    network = Network(Shape(len(word_list()), d_model=32, n_layers=3, n_heads=2, mlp_hidden_size=64))
    for weight in network.parameters():
        # Larger weights than the first ones, so that attention is far from even and a mistake would show.
        weight.data += 0.2 * torch.randn_like(weight)
    return network


def as_llama(network: Network) -> LlamaForCausalLM:
    shape = network.shape
    llama = LlamaForCausalLM(
        LlamaConfig(
            hidden_size=shape.d_model,
            num_hidden_layers=shape.n_layers,
            num_attention_heads=shape.n_heads,
            num_key_value_heads=shape.n_heads,
            intermediate_size=shape.mlp_hidden_size,
            vocab_size=shape.vocab_size,
            max_position_embeddings=shape.max_sequence_length,
            rope_parameters={"rope_type": "default", "rope_theta": shape.rope_theta},
            rms_norm_eps=shape.rms_norm_eps,
            tie_word_embeddings=True,
        )
    )
    names = {
        "attn_out": "self_attn.o_proj",
        "ff_proj": "mlp.gate_proj",
        "up_proj": "mlp.up_proj",
        "ff_out": "mlp.down_proj",
        "attn_norm": "input_layernorm",
        "ff_norm": "post_attention_layernorm",
        "q_proj": "self_attn.q_proj",
        "k_proj": "self_attn.k_proj",
        "v_proj": "self_attn.v_proj",
    }
    weights = {"model.embed_tokens.weight": network.wte.weight, "model.norm.weight": network.ln_f.weight}
    weights["lm_head.weight"] = network.wte.weight
    for name, weight in network.blocks.named_parameters():
        layer, part, _ = name.split(".")
        weights[f"model.layers.{layer}.{names[part]}.weight"] = weight
    llama.load_state_dict(weights)
    return llama.eval()


@torch.no_grad()
def test_the_network_equals_llama_with_a_full_mask_and_hidden_padding(network: Network) -> None:
    ids = torch.randint(4, network.shape.vocab_size, (2, 20))
    real = torch.ones(2, 20, dtype=torch.bool)
    real[1, 15:] = False
    ours = network.head(network(ids, real))
    mask = real[:, None, None, :].expand(2, 1, 20, 20)
    theirs = as_llama(network)(input_ids=ids, attention_mask=mask, position_ids=torch.arange(20).expand(2, 20)).logits
    assert torch.allclose(ours, theirs, atol=1e-4, rtol=1e-4)


@torch.no_grad()
def test_an_exported_folder_loads_like_llada_and_gives_the_same_logits(network: Network, tmp_path: Path) -> None:
    export(network, tmp_path)
    model = dard.load_model(tmp_path)
    ids = torch.tensor(model.encode("The city of [MASK] [MASK] is on the Southern California coast ."))
    assert ids[3] == ids[4] == MASK_ID == model.mask_id
    everything = torch.ones(len(ids), len(ids), dtype=torch.bool)
    loaded = model.logits(ids, torch.arange(len(ids)), everything, torch.arange(len(ids)))
    half = read_back(tmp_path)
    ours = half.head(half(ids[None], torch.ones(1, len(ids), dtype=torch.bool)))[0]
    assert torch.allclose(ours, loaded, atol=1e-4, rtol=1e-4)
    assert model.max_length == network.shape.max_sequence_length
    assert model.num_layers == network.shape.n_layers
    assert model.token_text(model.eos_id or 0) == "[EOS]"


def test_the_exported_config_uses_the_names_of_llada(network: Network, tmp_path: Path) -> None:
    export(network, tmp_path)
    config = json.loads((tmp_path / "config.json").read_text(encoding="utf-8"))
    assert config == config_of(network.shape)
    assert config["model_type"] == "llada" and config["architectures"] == ["LLaDAModelLM"]


def test_exporting_rounds_to_half_precision_only(network: Network, tmp_path: Path) -> None:
    export(network, tmp_path)
    for (name, ours), back in zip(network.state_dict().items(), read_back(tmp_path).state_dict().values(), strict=True):
        assert torch.equal(ours.half().float(), back), name


def test_orthogonalised_matrices_have_singular_values_near_one() -> None:
    torch.manual_seed(0)
    for shape in ((3, 16, 16), (2, 16, 40), (2, 40, 16)):
        values = torch.linalg.svdvals(orthogonalise(torch.randn(shape)))
        assert values.min() > 0.3 and values.max() < 1.4


def test_muon_lowers_a_simple_loss() -> None:
    torch.manual_seed(0)
    weight = torch.nn.Parameter(torch.randn(8, 8))
    target = torch.randn(8, 8)
    muon = Muon([weight])
    before = (weight - target).square().mean().item()
    for _ in range(60):
        (weight - target).square().mean().backward()
        muon.param_groups[0]["lr"] = 0.2
        muon.step()
        muon.zero_grad()
    assert (weight - target).square().mean().item() < before / 4
