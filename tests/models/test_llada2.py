"""LLaDA2: the network written out, its switches and ids, its blocks, editing on it, and its own generate recorded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from transformers.utils import logging as transformers_logging

import dard
from dard.checkup import literal as reference
from dard.models.families import load_folder
from dard.models.loading import LoadOptions
from dard.models.placement import Placement
from tests.decoders.follow import TINY_GAP
from tests.models.families import llada2_tokenizer, load_family, save_tokenizer, write_llada2, write_llada_moe
from tests.models.folders import change_config
from tests.models.llada2 import Literal, small_config, write_llada2_files

BLOCK = 32


def write(folder: Path, layers: int = 3, sharpness: float = 1.0, **changes: Any) -> Literal:
    """A checkpoint with some keys of its config changed, weights to match."""
    tokenizer = llada2_tokenizer()
    known = tokenizer.get_vocab()
    ids = {"mask_token_id": known["<|mask|>"], "eos_token_id": 257, "pad_token_id": 257}
    network = write_llada2_files(folder, small_config(layers, len(tokenizer) + 5, **ids | changes), 2, sharpness)
    save_tokenizer(folder, tokenizer, "PreTrainedTokenizerFast")
    return network


def in_blocks(network: Literal, ids: list[int]) -> Tensor:
    """Logits [S, vocabulary] of a sequence in which a position sees its block of 32 and those before."""
    at = torch.arange(len(ids))
    sees = at[:, None] // BLOCK >= at[None, :] // BLOCK
    return network(torch.tensor([ids]), at[None], sees[None, None]).logits[0]


def asked(model: Any, ids: list[int]) -> Tensor:
    """The same, asked as a decoder asks that hides nothing."""
    size = len(ids)
    return model.logits(torch.tensor(ids), torch.arange(size), torch.ones(size, size).bool(), torch.arange(size))


def some_ids(model: Any, size: int, seed: int = 0) -> list[int]:
    return torch.randint(0, model.vocab_size, (size,), generator=torch.Generator().manual_seed(seed)).tolist()


# The network.


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"first_k_dense_replace": 2},
        {"num_shared_experts": 2, "norm_topk_prob": False, "routed_scaling_factor": 1.5},
        {"num_key_value_heads": 1, "n_group": 8, "topk_group": 4, "num_experts_per_tok": 5},
        {"num_key_value_heads": 4, "partial_rotary_factor": 1.0, "rope_theta": 10000, "rms_norm_eps": 1e-2},
        {"use_qk_norm": False, "n_group": 1, "topk_group": 1},
        {"tie_word_embeddings": True, "num_experts_per_tok": 1},
    ],
    ids=str,
)
def test_logits_are_those_of_the_network_written_out(changes: dict[str, Any], tmp_path: Path) -> None:
    network = write(tmp_path / "m", **changes)
    model = dard.load_model(tmp_path / "m")
    ids = some_ids(model, 70)
    expected = in_blocks(network, ids)
    torch.testing.assert_close(asked(model, ids), expected, atol=1e-4, rtol=1e-4)
    assert expected.abs().max() > 1


def test_other_numbers_would_be_told_apart(tmp_path: Path) -> None:
    """Each of them moves a logit by a thousand times what is allowed."""
    network = write(tmp_path / "m")
    ids = some_ids(dard.load_model(tmp_path / "m"), 40)
    expected = in_blocks(network, ids)
    for changes in ({"norm_topk_prob": False}, {"topk_group": 4}, {"rope_theta": 10000}, {"rms_norm_eps": 1e-2}):
        change_config(tmp_path / "m", **changes)
        found = asked(dard.load_model(tmp_path / "m"), ids)
        assert (found - expected).abs().max() > 0.1, changes
        change_config(tmp_path / "m", **{name: network.config[name] for name in changes})


def test_blocks_of_32_are_counted_from_the_first_token_of_the_prompt(tmp_path: Path) -> None:
    model: Any = load_family("llada2", tmp_path)[1]
    assert (model.block_size, model.shifted) == (BLOCK, False)
    trace = dard.decode(model, some_ids(model, 40), "standard", gen_length=60, per_pass=8)
    assert {step.block for step in trace.steps} == {(0, 24), (24, 56), (56, 60)} and trace.block_size == BLOCK
    with pytest.raises(dard.InputError, match="block_length must be 32"):
        dard.decode(model, [5, 6], block_length=16)


def test_another_block_may_be_told_and_a_shift_may_not(tmp_path: Path) -> None:
    folder, _ = write_llada2(tmp_path / "m")
    model: Any = dard.load_model(folder, attention="block:4")
    assert model.block_size == 4
    with pytest.raises(dard.InputError, match="shift cannot be said of model folder 'm': it is known of 'llada2_moe'"):
        dard.load_model(folder, shift=True)


# Switches and ids.


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("rope_scaling", {"type": "yarn", "factor": 4.0}),
        ("use_bias", True),
        ("use_qkv_bias", True),
        ("score_function", "softmax"),
        ("moe_router_enable_expert_bias", False),
        ("expert_capacity", 2),
        ("delete_token_id", 156930),
        ("split_token_id", 156931),
        ("norm_head", True),
        ("hidden_act", "gelu"),
        ("use_sliding_window", True),
        ("block_size", 64),
    ],
)
def test_what_makes_another_network_is_refused_by_its_name(name: str, value: Any, tmp_path: Path) -> None:
    folder, _ = write_llada2(tmp_path / "m")
    change_config(folder, **{name: value})
    with pytest.raises(dard.InputError) as caught:
        dard.load_model(folder)
    shown = str(value)[:40]
    assert str(caught.value).startswith(f"config.json of this LLaDA2 checkpoint has {name} = {shown}, which makes")
    assert "\n" not in str(caught.value)


def test_biases_are_published_where_nothing_is_said_of_them(tmp_path: Path) -> None:
    folder, _ = write_llada2(tmp_path / "m")
    change_config(folder, use_bias=None)
    with pytest.raises(dard.InputError, match="use_bias = True"):
        dard.load_model(folder)


@pytest.mark.parametrize("key", ["n_group", "num_experts", "rope_theta", "moe_intermediate_size"])
def test_a_key_that_is_not_there_is_named(key: str, tmp_path: Path) -> None:
    folder, _ = write_llada2(tmp_path / "m")
    change_config(folder, **{key: None})
    with pytest.raises(dard.InputError, match=f"this LLaDA2 checkpoint has no '{key}'"):
        dard.load_model(folder)


def test_ids_that_no_file_names_are_the_published_ones(tmp_path: Path) -> None:
    tokenizer = llada2_tokenizer()
    tokenizer.eos_token = tokenizer.pad_token = None
    sizes = {"hidden_size": 8, "head_dim": 4, "intermediate_size": 8, "moe_intermediate_size": 4}
    write_llada2_files(tmp_path / "m", small_config(1, 157184, pad_token_id=156892, **sizes), 1)
    save_tokenizer(tmp_path / "m", tokenizer, "PreTrainedTokenizerFast")
    model = dard.load_model(tmp_path / "m")
    assert (model.mask_id, model.eos_id, model.vocab_size) == (156895, 156892, 157184)
    change_config(tmp_path / "m", pad_token_id=None)
    assert dard.load_model(tmp_path / "m").eos_id == 156892


def test_a_turn_ends_with_its_own_mark(tmp_path: Path) -> None:
    model: Any = load_family("llada2", tmp_path)[1]
    assert [model.token_text(token) for token in model.end_ids] == ["<|role_end|>"]
    assert model.decode(model.encode("the city")) == (
        "<role>SYSTEM</role>detailed thinking off<|role_end|><role>HUMAN</role>the city<|role_end|>"
        "<role>ASSISTANT</role>"
    )


def test_its_mark_ends_a_turn_where_the_tokenizer_has_no_template(tmp_path: Path) -> None:
    write(tmp_path / "m")
    tokenizer = llada2_tokenizer()
    tokenizer.chat_template = None
    (tmp_path / "m" / "chat_template.jinja").unlink(missing_ok=True)
    save_tokenizer(tmp_path / "m", tokenizer, "PreTrainedTokenizerFast")
    model: Any = dard.load_model(tmp_path / "m")
    assert not model.chat and [model.token_text(token) for token in model.end_ids] == ["<|role_end|>"]


@pytest.mark.parametrize("changes", [{"n_group": 5}, {"topk_group": 5}, {"num_experts_per_tok": 9}, {"n_group": 0}])
def test_experts_that_cannot_be_chosen_in_groups_are_refused(changes: dict[str, Any], tmp_path: Path) -> None:
    folder, _ = write_llada2(tmp_path / "m")
    change_config(folder, **changes)
    name, value = next(iter(changes.items()))
    with pytest.raises(dard.InputError, match=f"has num_experts = 16, .*{name} = {value}.* do not fit together"):
        dard.load_model(folder)


def test_nothing_is_printed_while_it_is_read(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], recwarn: pytest.WarningsRecorder
) -> None:
    """transformers has no code for its model type, and would say so at every load."""
    folder, _ = write_llada2(tmp_path / "m")
    transformers_logging.set_verbosity_warning()
    dard.load_model(folder)
    assert capfd.readouterr().err == "" and not [each for each in recwarn if each.category is FutureWarning]


# Editing, as published.


class InBlocks:
    """The network under the mask its sampler passes, whatever the reference asks for."""

    def __init__(self, network: Literal) -> None:
        self.network = network

    def __call__(self, input_ids: Tensor, position_ids: Tensor, attention_mask: Tensor, **_: Any) -> Any:
        at = position_ids[0] // BLOCK
        return self.network(input_ids, position_ids, attention_mask & (at[:, None] >= at[None, :]))


@pytest.mark.parametrize("size", [32, 40])
def test_editing_is_the_published_rule_on_it(size: int, tmp_path: Path) -> None:
    """With a prompt that fills its block, and one whose tail shares a block with the answer, as in one canvas."""
    network = write(tmp_path / "m", layers=2, sharpness=5.0)
    model = dard.load_model(tmp_path / "m")
    prompt = [token for token in some_ids(model, 3 * size, seed=4) if token != model.mask_id][:size]
    settings: dict[str, Any] = {"threshold": 0.3, "edit_threshold": 0.25, "max_post_steps": 3}
    canvas = prompt + [model.mask_id] * (96 - size)
    moments = list(reference.edit(InBlocks(network), [], canvas, model.mask_id, block_length=BLOCK, **settings))
    session = dard.Session(model, prompt, "edit", gen_length=96 - size, block_length=BLOCK, **settings)
    replaced = 0
    for moment in moments:
        if moment.closest < TINY_GAP:
            break
        step = session.step()
        assert step.tokens == moment.tokens[size:]
        changed = [*step.decided, *step.replaced]
        found = [step.confidence[i] for i in changed]
        assert found == pytest.approx([moment.confidence[size + i] for i in changed], abs=1e-4)
        replaced += len(step.replaced)
    assert replaced > 3 and len(session.steps) > 6


# Its own generate.


def generate(self: Any, inputs: Tensor, mask_id: int, gen_length: int, threshold: float) -> Tensor:
    """As the published one does it: a window that grows by a block, written in place, through self.forward."""
    blocks = -(-(inputs.shape[1] + gen_length) // BLOCK)
    sees = torch.ones(blocks, blocks).tril().repeat_interleave(BLOCK, 0).repeat_interleave(BLOCK, 1)
    x = torch.full((1, blocks * BLOCK), mask_id)
    x[:, : inputs.shape[1]] = inputs
    for block in range(inputs.shape[1] // BLOCK, blocks):
        end = (block + 1) * BLOCK
        window, mask = x[:, :end], sees[None, None, :end, :end].log()
        while bool((masked := window[:, -BLOCK:] == mask_id).any()):
            logits = self.forward(window, attention_mask=mask, position_ids=torch.arange(end)[None]).logits
            p, token = logits[:, -BLOCK:].softmax(-1).where(masked[..., None], -1).max(-1)
            chosen = p > threshold if bool((p > threshold).any()) else p == p.max()
            window[:, -BLOCK:][chosen] = token[chosen]
    return x[:, : inputs.shape[1] + gen_length]


def test_its_own_generate_is_recorded_through_self_forward(tmp_path: Path) -> None:
    model: Any = load_family("llada2", tmp_path, layers=2)[1]
    network, prompt = model.network, torch.tensor([some_ids(model, 40, seed=1)])
    with torch.no_grad(), dard.record(network, model.tokenizer) as recording:
        out = generate(network, prompt, model.mask_id, 56, 0.05)
    trace = recording.trace
    assert trace.finished and trace.tokens == out[0, 40:].tolist() and trace.mask_id == model.mask_id
    blocks = [(40 + i) // BLOCK for step in trace.steps for i in step.decided]
    assert blocks == sorted(blocks) and set(blocks) == {1, 2}


@pytest.mark.parametrize("threshold", [0.05, 0.9])
def test_our_threshold_decoder_decodes_as_its_own_generate(threshold: float, tmp_path: Path) -> None:
    """Where prompt and answer together fill their last block."""
    model: Any = load_family("llada2", tmp_path, layers=2)[1]
    prompt = [token for token in some_ids(model, 60, seed=2) if token != model.mask_id][:40]
    with torch.no_grad():
        out = generate(model.network, torch.tensor([prompt]), model.mask_id, 56, threshold)
    for cache in ("off", "block"):
        trace = dard.decode(
            model, prompt, "threshold", gen_length=56, block_length=BLOCK, threshold=threshold, prefix_cache=cache
        )
        assert trace.tokens == out[0, 40:].tolist()


@pytest.mark.parametrize(("dtype", "kernel"), [("float32", "grouped_mm"), ("bfloat16", "eager")])
def test_experts_go_at_once_where_their_rows_are_long_enough(dtype: str, kernel: str, tmp_path: Path) -> None:
    """12 numbers of 2 bytes are no multiple of 16, which the kernel would refuse."""
    folder, _ = write_llada2(tmp_path / "m")
    model: Any = dard.load_model(folder, dtype=dtype)
    assert model.network.config._experts_implementation == kernel
    assert dard.decode(model, "the [MASK] of").finished


# In few bits.


@pytest.mark.parametrize("writer", [write_llada2, write_llada_moe])
def test_in_few_bits_every_expert_is_a_layer_of_its_own_and_says_the_same(writer: Any, tmp_path: Path) -> None:
    """Nothing but linear layers is quantised. Without bitsandbytes the layers stay as they are read."""

    class Whole(Placement):
        def arguments(self) -> dict[str, Any]:
            return {"dtype": self.dtype}

    folder, _ = writer(tmp_path / "m", layers=2)
    stacked: Any = dard.load_model(folder)
    apart: Any = load_folder(folder, LoadOptions(Whole(torch.device("cpu"), torch.float32, quantise=4), "m"))
    assert any(weight.dim() == 3 for weight in stacked.network.parameters())
    assert all(weight.dim() < 3 for weight in apart.network.parameters())
    ids = some_ids(stacked, 40)
    torch.testing.assert_close(asked(apart, ids), asked(stacked, ids), atol=1e-5, rtol=1e-5)
