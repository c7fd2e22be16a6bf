"""Checkpoints from a folder: LLaDA's and Llama's format give the same model; a broken folder is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import LlamaForCausalLM, Qwen2Config, Qwen2ForCausalLM, Qwen3Config, Qwen3ForCausalLM

import dard
from dard.models.checkpoint import count_weights
from tests.models.folders import change_config, write_llada, write_llama
from tests.tiny import MASK_ID, VOCABULARY, llama_config


def network_of(seed: int = 5, **changes: Any) -> LlamaForCausalLM:
    torch.manual_seed(seed)
    network = LlamaForCausalLM(
        llama_config(2, rope_parameters={"rope_type": "default", "rope_theta": 500000.0}, rms_norm_eps=1e-5, **changes)
    )
    with torch.no_grad():
        for weight in network.parameters():
            weight.normal_(0.1, 0.3)
    return network.eval()


def question(seed: int = 0, size: int = 9) -> tuple[torch.Tensor, ...]:
    generator = torch.Generator().manual_seed(seed)
    ids = torch.randint(0, VOCABULARY, (size,), generator=generator)
    positions = torch.randint(0, 20, (size,), generator=generator)
    mask = torch.rand(size, size, generator=generator) < 0.5
    mask |= torch.eye(size, dtype=torch.bool)
    return ids, positions, mask, torch.tensor([0, 3, 8, 3])


@pytest.mark.parametrize("key_value_heads", [4, 2])
def test_the_same_weights_in_both_formats_give_equal_logits(key_value_heads: int, tmp_path: Path) -> None:
    network = network_of(num_key_value_heads=key_value_heads)
    llada = dard.load_model(write_llada(tmp_path / "llada", network))
    llama = dard.load_model(write_llama(tmp_path / "llama", network), attention="bidirectional")
    ids, positions, mask, rows = question()
    expected = network(input_ids=ids[None], position_ids=positions[None], attention_mask=mask[None, None]).logits[0]
    for model in (llada, llama):
        assert (model.mask_id, model.eos_id, model.vocab_size) == (MASK_ID, 1, VOCABULARY)
        assert (model.num_layers, model.max_length, model.device.type) == (2, 512, "cpu")
        found = model.logits(ids, positions, mask, rows)
        assert found.dtype == torch.float32 and found.shape == (4, VOCABULARY)
        torch.testing.assert_close(found, expected[rows], atol=1e-5, rtol=1e-5)
    assert torch.equal(llada.logits(ids, positions, mask, rows), llama.logits(ids, positions, mask, rows))
    assert (llada.name, llama.name) == ("llada", "llama")
    one, other = (dard.decode(model, "w5 [MASK] [MASK] w7", tau_c=0.3, tau_u=0.6) for model in (llada, llama))
    assert one.tokens == other.tokens and one.text == other.text


@pytest.mark.parametrize("kind", ["qwen2", "qwen3"])
def test_qwen_goes_through_the_same_door(kind: str, tmp_path: Path) -> None:
    family, config = {"qwen2": (Qwen2ForCausalLM, Qwen2Config), "qwen3": (Qwen3ForCausalLM, Qwen3Config)}[kind]
    torch.manual_seed(1)
    values = llama_config(1).to_dict()
    wanted = ("hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "vocab_size")
    small = {name: values[name] for name in wanted}
    network = family(config(**small, num_key_value_heads=4, head_dim=8, max_position_embeddings=512)).eval()
    model = dard.load_model(write_llama(tmp_path / kind, network, bare=False), attention="bidirectional")
    ids, positions, mask, rows = question()
    expected = network(input_ids=ids[None], position_ids=positions[None], attention_mask=mask[None, None]).logits[0]
    torch.testing.assert_close(model.logits(ids, positions, mask, rows), expected[rows], atol=1e-5, rtol=1e-5)
    hidden_key = int((~mask[0]).nonzero()[0])
    other = ids.clone()
    other[hidden_key] = (ids[hidden_key] + 1) % VOCABULARY
    row = torch.tensor([0])
    assert torch.equal(model.logits(other, positions, mask, row), model.logits(ids, positions, mask, row))
    assert dard.decode(model, "w5 [MASK] [MASK] w7").finished


def test_tied_heads_and_settings_of_its_own(tmp_path: Path) -> None:
    network = network_of(tie_word_embeddings=True)
    folder = tmp_path / "tied"
    folder.mkdir()
    network.save_pretrained(folder)
    write_tokenizer_and_mask(folder)
    (folder / "generation_config.json").write_text(json.dumps({"tau_c": 0.2, "tau_u": 0.3, "max_new_tokens": 5}))
    model = dard.load_model(str(folder), attention="bidirectional")
    ids, positions, mask, rows = question()
    expected = network(input_ids=ids[None], position_ids=positions[None], attention_mask=mask[None, None]).logits[0]
    torch.testing.assert_close(model.logits(ids, positions, mask, rows), expected[rows], atol=1e-5, rtol=1e-5)
    assert dard.decode(model, "w5 [MASK]").settings["tau_c"] == 0.2


def write_tokenizer_and_mask(folder: Path) -> None:
    from tests.models.folders import write_tokenizer

    write_tokenizer(folder)
    change_config(folder, mask_token_id=MASK_ID)


# Broken folders.


def shard_with(folder: Path, part: str) -> tuple[Path, str]:
    index = json.loads((folder / "model.safetensors.index.json").read_text())
    name = next(name for name in sorted(index["weight_map"]) if part in name)
    return folder / index["weight_map"][name], name


def drop_weight(folder: Path, part: str) -> None:
    file, name = shard_with(folder, part)
    weights = load_file(file)
    del weights[name]
    save_file(weights, file, metadata={"format": "pt"})
    index_file = folder / "model.safetensors.index.json"
    index = json.loads(index_file.read_text())
    del index["weight_map"][name]
    index_file.write_text(json.dumps(index))


def refused(folder: Path, **options: Any) -> str:
    with pytest.raises(dard.InputError) as caught:
        dard.load_model(folder, **options)
    sentence = str(caught.value)
    assert "\n" not in sentence and len(sentence) < 500, sentence
    return sentence


@pytest.mark.parametrize("part", ["q_proj", "ff_out", "wte", "ln_f"])
def test_a_llada_checkpoint_that_lacks_a_weight_is_refused(part: str, tmp_path: Path) -> None:
    folder = write_llada(tmp_path / "m", network_of())
    drop_weight(folder, part)
    assert "lacks 1 weights" in refused(folder)


@pytest.mark.parametrize("part", ["layers.1.mlp.up_proj", "lm_head", "model.norm"])
def test_a_llama_checkpoint_that_lacks_a_weight_is_refused(part: str, tmp_path: Path) -> None:
    folder = write_llama(tmp_path / "m", network_of())
    drop_weight(folder, part)
    assert part in refused(folder, attention="bidirectional")


@pytest.mark.parametrize("part", ["q_proj", "attn_norm"])
def test_a_weight_of_another_shape_is_refused(part: str, tmp_path: Path) -> None:
    folder = write_llada(tmp_path / "m", network_of())
    file, name = shard_with(folder, part)
    weights = load_file(file)
    weights[name] = weights[name][:-4].clone()
    save_file(weights, file, metadata={"format": "pt"})
    refused(folder)


def test_another_size_in_the_config_is_refused(tmp_path: Path) -> None:
    folder = write_llada(tmp_path / "m", network_of())
    change_config(folder, d_model=64)
    refused(folder)


def test_a_shard_that_is_gone_or_broken_is_refused(tmp_path: Path) -> None:
    folder = write_llada(tmp_path / "m", network_of())
    file, _ = shard_with(folder, "q_proj")
    data = file.read_bytes()
    file.write_bytes(data[: len(data) // 2])
    refused(folder)
    file.write_bytes(b"rubbish")
    refused(folder)
    file.unlink()
    refused(folder)


def as_pickle(folder: Path, weights: Any, shards: int) -> None:
    for file in folder.glob("*.safetensors*"):
        file.unlink()
    if shards == 1:
        torch.save(weights, folder / "pytorch_model.bin")
        return
    where = {}
    for number in range(shards):
        part = {name: weights[name] for name in sorted(weights)[number::shards]}
        file = f"pytorch_model-{number + 1:05d}-of-{shards:05d}.bin"
        torch.save(part, folder / file)
        where |= dict.fromkeys(part, file)
    index = {"metadata": {"total_size": 0}, "weight_map": where}
    (folder / "pytorch_model.bin.index.json").write_text(json.dumps(index))


@pytest.mark.parametrize("shards", [1, 2])
def test_weights_may_be_pickled_tensors(shards: int, tmp_path: Path) -> None:
    folder = write_llada(tmp_path / "m", network_of())
    expected = dard.load_model(folder).logits(*question())
    weights: dict[str, torch.Tensor] = {}
    for file in folder.glob("*.safetensors"):
        weights |= load_file(file)
    as_pickle(folder, weights, shards)
    assert torch.equal(dard.load_model(folder).logits(*question()), expected)
    assert count_weights(folder) == sum(weight.numel() for weight in weights.values())


class Bomb:
    """Would end the program if it were unpickled."""

    def __reduce__(self) -> Any:
        return (exit, (3,))


def test_nothing_but_tensors_is_unpickled(tmp_path: Path) -> None:
    folder = write_llada(tmp_path / "m", network_of())
    as_pickle(folder, {"model.transformer.wte.weight": Bomb()}, 1)
    refused(folder)
    assert count_weights(folder) == 0


def test_no_tokenizer_is_refused(tmp_path: Path) -> None:
    folder = write_llada(tmp_path / "m", network_of())
    (folder / "tokenizer.json").unlink()
    assert refused(folder) == (
        "model folder 'm' has no tokenizer.json, and neither vocab.txt nor vocab.json with merges.txt"
    )


def test_a_broken_tokenizer_is_refused(tmp_path: Path) -> None:
    folder = write_llada(tmp_path / "m", network_of())
    (folder / "tokenizer.json").write_text("{}")
    assert "tokenizer" in refused(folder)


def test_no_mask_token_is_refused(tmp_path: Path) -> None:
    folder = write_llada(tmp_path / "m", network_of())
    change_config(folder, mask_token_id=None)
    assert "names no mask token (mask_token_id in config.json)" in refused(folder)


@pytest.mark.parametrize("text", [None, "", "{", "[1]", '"x"', '{"model_type": "no-such-kind"}', "{}"])
def test_a_config_that_is_missing_or_broken_is_refused(text: str | None, tmp_path: Path) -> None:
    folder = write_llama(tmp_path / "m", network_of())
    (folder / "config.json").unlink()
    if text is not None:
        (folder / "config.json").write_text(text)
    refused(folder)


@pytest.mark.parametrize("key", ["n_heads", "vocab_size"])
def test_a_llada_config_without_a_key_names_it(key: str, tmp_path: Path) -> None:
    folder = write_llada(tmp_path / "m", network_of())
    change_config(folder, embedding_size=None, **{key: None})
    assert f"has no {key!r}" in refused(folder)


def test_code_beside_a_checkpoint_is_never_run(tmp_path: Path) -> None:
    """`write_llada` puts files there that would end the program."""
    assert dard.load_model(write_llada(tmp_path / "one", network_of())).vocab_size == VOCABULARY
    folder = write_llada(tmp_path / "two", network_of())
    change_config(folder, d_model=None)  # no longer taken for a LLaDA: transformers itself sees the auto_map
    refused(folder)


@pytest.mark.parametrize("options", [{"dtype": "nonsense"}, {"device": "nonsense"}, {"dtype": "nn"}])
def test_an_unknown_dtype_or_device_is_refused(options: dict[str, str], tmp_path: Path) -> None:
    folder = write_llada(tmp_path / "m", network_of())
    assert next(iter(options.values())) in refused(folder, **options)


def test_an_empty_folder_is_refused(tmp_path: Path) -> None:
    assert "config.json" in refused(tmp_path)


def test_a_mask_token_outside_the_vocabulary_is_refused(tmp_path: Path) -> None:
    folder = write_llada(tmp_path / "m", network_of())
    change_config(folder, mask_token_id=VOCABULARY)
    assert f"the mask token {VOCABULARY} of model 'm' is outside its vocabulary of {VOCABULARY}" in refused(folder)
