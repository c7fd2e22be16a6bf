"""A small random checkpoint of every family, on disk as the real one is: config keys, sharded weights, tokenizer files.

Each writer returns the folder and the network whose weights it holds.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import (
    BertConfig,
    BertForMaskedLM,
    DistilBertConfig,
    DistilBertForMaskedLM,
    Glm4MoeConfig,
    Glm4MoeForCausalLM,
    LlamaForCausalLM,
    ModernBertConfig,
    ModernBertForMaskedLM,
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen2ForCausalLM,
    Qwen3Config,
    Qwen3ForCausalLM,
    Qwen3MoeConfig,
    Qwen3MoeForCausalLM,
    RobertaConfig,
    RobertaForMaskedLM,
)

import dard
from tests.models.folders import llada_config, llada_name, write_shards
from tests.models.llada2 import MARKS, TEMPLATE, small_config, write_llada2_files
from tests.tiny import llama_config

Written = tuple[Path, Any]
NEVER = "raise SystemExit('code of a checkpoint was run')"
WORDS = ["the", "city", "of", "paris", "rome", "is", "big", "old", "and", "green", "cat", "dog", "sat", "on", "a"]
CHAT = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
    "{% if enable_thinking is defined and not enable_thinking %}<think>\n\n</think>\n\n{% endif %}"
)
LLAMA_CHAT = (
    "{% for m in messages %}{{ bos_token if loop.first }}<|start_header_id|>{{ m['role'] }}<|end_header_id|>\n\n"
    "{{ m['content'] }}<|eot_id|>{% endfor %}{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}"
)


def random_weights(network: Any, seed: int) -> Any:
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weight in network.parameters():
            weight.copy_(torch.randn(weight.shape, generator=generator) * 0.3 + (0.1 if weight.dim() == 1 else 0))
    return network.eval()


def write_config(folder: Path, values: dict[str, Any]) -> None:
    (folder / "config.json").write_text(json.dumps(values))


def save_tokenizer(folder: Path, tokenizer: Any, kind: str) -> None:
    """Under the class name the real files have, which is not always the one this transformers writes."""
    tokenizer.save_pretrained(folder)
    values = json.loads((folder / "tokenizer_config.json").read_text()) | {"tokenizer_class": kind}
    (folder / "tokenizer_config.json").write_text(json.dumps(values))


def byte_vocabulary(specials: list[str]) -> tuple[dict[str, int], list[str]]:
    """A byte-level vocabulary with a few merges, then the special tokens."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    merges = ["Ġ t", "h e", "Ġt he"]
    entries = [*letters, *(merge.replace(" ", "") for merge in merges)]
    return {entry: number for number, entry in enumerate([*entries, *specials])}, merges


# LLaDA.


def write_llada_chat(folder: Path, layers: int = 1, base: bool = False) -> Written:
    """LLaDA-8B-Instruct: byte-level BPE with Llama-3's marks in tokenizer.json. LLaDA-8B-Base has the template, too,
    and not the marks."""
    specials = ["<|startoftext|>", "<|endoftext|>", "<|mdm_mask|>"]
    specials += [] if base else ["<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"]
    vocabulary, merges = byte_vocabulary([])
    backend = Tokenizer(models.BPE(vocabulary, [tuple(m.split()) for m in merges]))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    backend.add_special_tokens(specials)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=backend, bos_token=specials[0], eos_token=specials[1], pad_token=specials[1]
    )
    tokenizer.chat_template = LLAMA_CHAT
    known = tokenizer.get_vocab()
    size = len(tokenizer) + 7  # the real table is larger than its tokenizer, too
    rope = {"rope_type": "default", "rope_theta": 500000.0}
    network = random_weights(LlamaForCausalLM(llama_config(layers, size, rope_parameters=rope, rms_norm_eps=1e-5)), 1)
    folder.mkdir()
    write_shards(folder, {llada_name(name): weight for name, weight in network.state_dict().items()})
    ids = {"mask_token_id": known["<|mdm_mask|>"], "eos_token_id": known["<|endoftext|>"]}
    write_config(folder, llada_config(network.config) | ids)
    (folder / "modeling_llada.py").write_text(NEVER)
    (folder / "configuration_llada.py").write_text(NEVER)
    save_tokenizer(folder, tokenizer, "PreTrainedTokenizerFast")
    return folder, network


def experts_apart(network: Any) -> dict[str, torch.Tensor]:
    """The weights of a mixture as they are on disk: every expert's matrices under a name of their own."""
    weights: dict[str, torch.Tensor] = {}
    for name, weight in network.state_dict().items():
        if ".experts." not in name:
            weights[name] = weight
            continue
        for expert, matrix in enumerate(weight):
            place = name.replace("experts.", f"experts.{expert}.")
            if "gate_up_proj" in name:
                gate, up = matrix.chunk(2)
                weights[place.replace("gate_up_proj", "gate_proj.weight")] = gate
                weights[place.replace("gate_up_proj", "up_proj.weight")] = up
            else:
                weights[place + ".weight"] = matrix
    return weights


def write_llada_moe(folder: Path, layers: int = 1) -> Written:
    """LLaDA-MoE-7B-A1B: its own keys under LLaDA's model type."""
    tokenizer = qwen_tokenizer("<|mask|>", mask_token="<|mask|>")
    own = {
        "hidden_size": 32,
        "num_hidden_layers": layers,
        "num_attention_heads": 4,
        "num_key_value_heads": 4,
        "num_experts": 6,
        "num_experts_per_tok": 2,
        "vocab_size": len(tokenizer) + 5,
        "max_position_embeddings": 8192,
        "rms_norm_eps": 1e-5,
        "tie_word_embeddings": False,
    }
    rope = {"rope_type": "default", "rope_theta": 50000.0}
    more = {"head_dim": 8, "moe_intermediate_size": 24, "norm_topk_prob": False, "rope_parameters": rope}
    network = random_weights(Qwen3MoeForCausalLM(Qwen3MoeConfig(**own, **more)), 10)
    folder.mkdir()
    write_shards(folder, experts_apart(network))
    write_config(
        folder,
        own
        | {
            "model_type": "llada",
            "architectures": ["LLaDAMoEModelLM"],
            "auto_map": {
                "AutoConfig": "configuration_llada.LLaDAConfig",
                "AutoModel": "modeling_llada_moe.LLaDAMoEModelLM",
            },
            "attention_bias": False,
            "clip_qkv": None,
            "dense_intermediate_size": 64,
            "expert_intermediate_size": 24,
            "shared_expert_intermediate_size": None,
            "eos_token_id": tokenizer.eos_token_id,
            "hidden_act": "silu",
            "moe_layer_freq": [1] * layers,
            "moe_router_enable_expert_bias": False,
            "moe_router_score_function": "softmax",
            "norm_topk_prob": None,
            "partial_rotary_factor": 1,
            "qk_layernorm": True,
            "rope_scaling": None,
            "rope_theta": 50000,
            "routed_scaling_factor": 1,
            "router_num_group": None,
        },
    )
    (folder / "modeling_llada_moe.py").write_text(NEVER)
    save_tokenizer(folder, tokenizer, "PreTrainedTokenizerFast")
    return folder, network


def write_llada2(folder: Path, layers: int = 1) -> Written:
    """LLaDA2.0 and 2.1: a network of their own, written out; the marks of a conversation are tokens."""
    tokenizer = llada2_tokenizer()
    known = tokenizer.get_vocab()
    ids = {"mask_token_id": known["<|mask|>"], "eos_token_id": known["<|endoftext|>"], "pad_token_id": 256}
    literal = write_llada2_files(folder, small_config(layers, len(tokenizer) + 5, **ids), 13)
    save_tokenizer(folder, tokenizer, "PreTrainedTokenizerFast")
    return folder, as_glm(literal.config, literal.weights)


def as_glm(config: dict[str, Any], weights: dict[str, torch.Tensor]) -> Any:
    """The same network in transformers' words, for tests that look into one; its numbers are checked against the
    literal one in test_llada2.py."""
    same = ("hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads")
    same += ("head_dim", "vocab_size", "rms_norm_eps", "num_experts_per_tok", "n_group", "topk_group", "use_qk_norm")
    same += ("routed_scaling_factor", "moe_intermediate_size", "first_k_dense_replace", "max_position_embeddings")
    rope = {"rope_type": "default", "rope_theta": float(config["rope_theta"]), "partial_rotary_factor": 0.5}
    own = {name: config[name] for name in same} | {"rope_parameters": rope, "num_mtp_layers": 0, "n_shared_experts": 1}
    network = Glm4MoeForCausalLM(Glm4MoeConfig(n_routed_experts=config["num_experts"], **own))
    found: dict[str, torch.Tensor] = {}
    for name, weight in weights.items():
        name = name.replace("word_embeddings", "embed_tokens").replace(".attention.dense", ".self_attn.o_proj")
        name = name.replace("expert_bias", "e_score_correction_bias")
        name = re.sub(r"attention\.(query|key)_layernorm", lambda m: f"self_attn.{m[1][0]}_norm", name)
        if "query_key_value" in name:
            sizes = [config["head_dim"] * config[f"num_{of}_heads"] for of in ("attention", "key_value", "key_value")]
            for letter, part in zip("qkv", weight.split(sizes), strict=True):
                found[name.replace("attention.query_key_value", f"self_attn.{letter}_proj")] = part
        elif ".experts." not in name:
            found[name] = weight
    for n in range(config["first_k_dense_replace"], config["num_hidden_layers"]):
        place = f"model.layers.{n}.mlp.experts"
        every = [
            {part: weights[f"{place}.{e}.{part}_proj.weight"] for part in ("gate", "up", "down")}
            for e in range(config["num_experts"])
        ]
        found[f"{place}.gate_up_proj"] = torch.stack([torch.cat([each["gate"], each["up"]]) for each in every])
        found[f"{place}.down_proj"] = torch.stack([each["down"] for each in every])
    network.load_state_dict(found)
    return network.eval()


def llada2_tokenizer() -> Any:
    vocabulary, merges = byte_vocabulary([])
    backend = Tokenizer(models.BPE(vocabulary, [tuple(m.split()) for m in merges]))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    backend.add_special_tokens(MARKS)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=backend, bos_token=MARKS[0], eos_token=MARKS[1], pad_token=MARKS[1]
    )
    tokenizer.chat_template = TEMPLATE
    return tokenizer


# MMaDA, with the real numbers of tokens: marks and codes stand where they really do.

TEXT_TOKENS, ROWS, CODES = 126349, 134656, 8192


def write_mmada(folder: Path, layers: int = 1) -> Written:
    words = {f"w{i}": i for i in range(126080)} | {f"<|reserved_token_{i}|>": 126084 + i for i in range(252)}
    named = {126080: "<|startoftext|>", 126081: "<|endoftext|>", 126082: "[CLS]", 126083: "[gMASK]"}
    named |= {126336: "<|mdm_mask|>", 126346: "<|start_header_id|>", 126347: "<|end_header_id|>", 126348: "<|eot_id|>"}
    named |= {i: f"<|reserved_token_{i}|>" for i in range(126337, 126346)}
    words |= {word: number for number, word in named.items()}
    backend = Tokenizer(models.WordLevel(words, unk_token="w0"))
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=backend,
        bos_token="<|startoftext|>",
        eos_token="<|endoftext|>",
        additional_special_tokens=["<|mdm_mask|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"],
    )
    assert len(tokenizer) == TEXT_TOKENS
    rope = {"rope_type": "default", "rope_theta": 500000.0}
    small = llama_config(layers, ROWS, hidden=16, rope_parameters=rope, rms_norm_eps=1e-5, max_position_embeddings=4096)
    network = random_weights(LlamaForCausalLM(small), 2)
    folder.mkdir()
    write_shards(folder, {llada_name(name): weight for name, weight in network.state_dict().items()})
    write_config(
        folder,
        llada_config(network.config)
        | {
            "model_type": "mmada",
            "architectures": ["MMadaModelLM"],
            "auto_map": {
                "AutoConfig": "modeling_mmada.MMadaConfig",
                "AutoModelForCausalLM": "modeling_mmada.MMadaModelLM",
            },
            "codebook_size": CODES,
            "llm_vocab_size": 126464,
            "new_vocab_size": ROWS,
            "num_vq_tokens": 1024,
            "num_new_special_tokens": 0,
            "mask_token_id": 126336,
            "eos_token_id": 126081,
        },
    )
    (folder / "modeling_mmada.py").write_text(NEVER)
    save_tokenizer(folder, tokenizer, "PreTrainedTokenizerFast")
    return folder, network


# Dream.


def write_dream(folder: Path, layers: int = 1) -> Written:
    """Qwen2's files under Dream's names: vocab.json and merges.txt, and a tokenizer class that only exists as code."""
    specials = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|beginoftext|>", "<|mask|>"]
    vocabulary, merges = byte_vocabulary([])
    ids = {word: len(vocabulary) + number for number, word in enumerate(specials)}
    small = Qwen2Config(
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=layers,
        num_attention_heads=4,
        num_key_value_heads=2,
        vocab_size=len(vocabulary) + 9,
        max_position_embeddings=131072,
        rope_parameters={"rope_type": "default", "rope_theta": 1000000.0},
        rms_norm_eps=1e-6,
        tie_word_embeddings=False,
    )
    network = random_weights(Qwen2ForCausalLM(small), 3)
    folder.mkdir()
    write_shards(folder, dict(network.state_dict()))
    names = ("hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads")
    write_config(
        folder,
        {name: getattr(small, name) for name in (*names, "vocab_size", "max_position_embeddings", "rms_norm_eps")}
        | {
            "architectures": ["DreamModel"],
            "auto_map": {"AutoConfig": "configuration_dream.DreamConfig", "AutoModel": "modeling_dream.DreamModel"},
            "model_type": "Dream",
            "attention_dropout": 0.0,
            "bos_token_id": ids["<|endoftext|>"],
            "eos_token_id": ids["<|endoftext|>"],
            "pad_token_id": ids["<|endoftext|>"],
            "mask_token_id": ids["<|mask|>"],
            "hidden_act": "silu",
            "initializer_range": 0.02,
            "max_window_layers": 28,
            "rope_scaling": None,
            "rope_theta": 1000000.0,
            "sliding_window": None,
            "tie_word_embeddings": False,
            "torch_dtype": "bfloat16",
            "use_cache": True,
            "use_mrope": False,
            "use_sliding_window": False,
        },
    )
    (folder / "vocab.json").write_text(json.dumps(vocabulary))
    (folder / "merges.txt").write_text("#version: 0.2\n" + "\n".join(merges) + "\n")
    added = {
        str(number): {"content": word, "lstrip": False, "normalized": False, "rstrip": False, "special": True}
        for word, number in ids.items()
    }
    tokenizer = {
        "added_tokens_decoder": added,
        "auto_map": {"AutoTokenizer": ["tokenization_dream.DreamTokenizer", None]},
        "tokenizer_class": "DreamTokenizer",
        "bos_token": "<|beginoftext|>",
        "eos_token": "<|endoftext|>",
        "mask_token": "<|mask|>",
        "pad_token": "<|endoftext|>",
        "unk_token": None,
        "chat_template": CHAT,
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(tokenizer))
    (folder / "added_tokens.json").write_text(json.dumps(ids))
    for file in ("tokenization_dream.py", "modeling_dream.py", "configuration_dream.py"):
        (folder / file).write_text(NEVER)
    return folder, network


# Qwen's relatives.


def qwen_tokenizer(mask: str, **named: Any) -> Any:
    """Qwen's marks and a mask token at the end; `named` says whether the tokenizer knows it as one."""
    vocabulary, merges = byte_vocabulary([])
    backend = Tokenizer(models.BPE(vocabulary, [tuple(m.split()) for m in merges]))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    backend.add_special_tokens(["<|endoftext|>", "<|im_start|>", "<|im_end|>", mask])
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=backend, eos_token="<|im_end|>", pad_token="<|endoftext|>", **named
    )
    tokenizer.chat_template = CHAT
    return tokenizer


def write_qwen(
    folder: Path, layers: int, tokenizer: Any, kind: Any, seed: int, config: dict[str, Any], **changes: Any
) -> Written:
    """A small Qwen under another name; what `config` sets to None is taken out."""
    configs, networks = {
        "2": (Qwen2Config, Qwen2ForCausalLM),
        "3": (Qwen3Config, Qwen3ForCausalLM),
        "3-MoE": (Qwen3MoeConfig, Qwen3MoeForCausalLM),
    }[str(kind)]
    values: dict[str, Any] = {
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": layers,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "vocab_size": len(tokenizer) + 5,
        "max_position_embeddings": 32768,
        "rope_parameters": {"rope_type": "default", "rope_theta": 1000000.0},
        "tie_word_embeddings": False,
        "eos_token_id": tokenizer.eos_token_id,
    }
    small = configs(**values | ({} if kind == 2 else {"head_dim": 16}) | changes)
    network = random_weights(networks(small), seed)
    folder.mkdir()
    tied = ["lm_head.weight"] if small.tie_word_embeddings else []
    write_shards(folder, {k: w for k, w in experts_apart(network).items() if k not in tied})
    kept = small.to_dict() | {"rope_theta": 1000000.0, "rope_scaling": None, "rope_parameters": None} | config
    gone = {"rope_parameters", *(key for key, value in config.items() if value is None)}
    write_config(folder, {key: value for key, value in kept.items() if key not in gone})
    save_tokenizer(folder, tokenizer, "Qwen2Tokenizer")
    return folder, network


def write_sdar(folder: Path, layers: int = 1) -> Written:
    """SDAR and TraDo: a Qwen3 in blocks of 4, its mask token in the config."""
    tokenizer = qwen_tokenizer("<|MASK|>")
    names = {"AutoConfig": "configuration_sdar.SDARConfig", "AutoModelForCausalLM": "modeling_sdar.SDARForCausalLM"}
    own = {"model_type": "sdar", "architectures": ["SDARForCausalLM"], "auto_map": names, "block_size": 4}
    own |= {"mask_token_id": tokenizer.get_vocab()["<|MASK|>"], "attn_implementation": "flex_attention", "debug": False}
    written = write_qwen(folder, layers, tokenizer, 3, 7, own)
    for file in ("configuration_sdar.py", "modeling_sdar.py"):
        (folder / file).write_text(NEVER)
    return written


def write_sdar_4b(folder: Path, layers: int = 1) -> Written:
    """SDAR-4B-Chat and 8B: as the small one, but no file says how long a block is."""
    written = write_sdar(folder, layers)
    config = json.loads((folder / "config.json").read_text())
    write_config(folder, {key: value for key, value in config.items() if key != "block_size"})
    return written


def write_sdar_moe(folder: Path, layers: int = 1) -> Written:
    """SDAR-30B-A3B: a Qwen3-MoE in blocks of 4."""
    tokenizer = qwen_tokenizer("<|MASK|>")
    names = {
        "AutoConfig": "configuration_sdar_moe.SDARMoeConfig",
        "AutoModelForCausalLM": "modeling_sdar_moe.SDARMoeForCausalLM",
    }
    own = {"model_type": "sdar_moe", "architectures": ["SDARMoeForCausalLM"], "auto_map": names, "block_size": 4}
    own |= {"mask_token_id": tokenizer.get_vocab()["<|MASK|>"]}
    mixed = {"num_experts": 6, "num_experts_per_tok": 2, "moe_intermediate_size": 24, "norm_topk_prob": True}
    written = write_qwen(folder, layers, tokenizer, "3-MoE", 14, own, **mixed)
    for file in ("configuration_sdar_moe.py", "modeling_sdar_moe.py"):
        (folder / file).write_text(NEVER)
    return written


def write_efficient_dlm(folder: Path, layers: int = 1) -> Written:
    """Efficient-DLM: by its config a Qwen3, its weights under an encoder and a head of their own; its tokenizer is a
    Qwen3's, with a template, and its mask one of that vocabulary."""
    tokenizer = qwen_tokenizer("<|fim_pad|>")
    own = {"architectures": ["DiffEncoderModel"], "block_size": 32, "dlm_paradigm": "bidirectional"}
    own |= {"auto_map": {"AutoModel": "modeling_edlm.DiffEncoderModel"}}
    own |= {"mask_token_id": tokenizer.get_vocab()["<|fim_pad|>"]}
    written = write_qwen(folder, layers, tokenizer, 3, 15, own)
    for file in folder.glob("*.safetensors*"):
        file.unlink()
    weights = {re.sub(r"^model\.", "encoder.", name): weight for name, weight in written[1].state_dict().items()}
    write_shards(folder, {re.sub(r"^lm_head\.", "diffusion_head.", name): weight for name, weight in weights.items()})
    (folder / "modeling_edlm.py").write_text(NEVER)
    return written


def write_fast_dllm(folder: Path, layers: int = 1) -> Written:
    """Fast-dLLM v2: a Qwen2 that predicts one position ahead, in blocks (32 in the real one); nothing in its files but
    the vocabulary names the mask token."""
    names = {"AutoConfig": "configuration.Fast_dLLM_QwenConfig", "AutoModel": "modeling.Fast_dLLM_QwenForCausalLM"}
    own = {"model_type": "Fast_dLLM_Qwen", "architectures": ["Fast_dLLM_QwenForCausalLM"], "auto_map": names}
    written = write_qwen(folder, layers, qwen_tokenizer("|<MASK>|"), 2, 8, own | {"bd_size": 4})
    for file in ("configuration.py", "modeling.py"):
        (folder / file).write_text(NEVER)
    return written


def write_open_dllm(folder: Path, layers: int = 1) -> Written:
    """Open-dLLM: by its files a Qwen2 with a mask token and no more."""
    tokenizer = qwen_tokenizer("<M>", mask_token="<M>")
    names = {"AutoModel": "modeling_qwen2.Qwen2ForCausalLM"}
    own = {"architectures": ["Qwen2ForCausalLM"], "auto_map": names, "mask_token_id": tokenizer.mask_token_id}
    written = write_qwen(folder, layers, tokenizer, 2, 9, own, tie_word_embeddings=True)
    (folder / "modeling_qwen2.py").write_text(NEVER)
    return written


def write_a2d(folder: Path, layers: int = 1) -> Written:
    """Qwen3-0.6B-diffusion-mdlm: tied embeddings (no lm_head on disk) and the mask token in the tokenizer only."""
    own = {"model_type": "a2d-qwen3", "architectures": ["A2DQwen3LMHeadModel"]}
    tokenizer = qwen_tokenizer("<|mask|>", mask_token="<|mask|>")
    written = write_qwen(folder, layers, tokenizer, 3, 4, own, tie_word_embeddings=True)
    (folder / "generation_config.json").write_text(json.dumps({"temperature": 0.6, "top_p": 0.95, "steps": 512}))
    return written


# BERT and DistilBERT.


def write_word_pieces(folder: Path) -> int:
    """vocab.txt, tokenizer.json and the two keys bert-base-uncased has in tokenizer_config.json."""
    from transformers import BertTokenizer

    entries = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS, ".", ",", "##s", "##er"]
    (folder / "vocab.txt").write_text("\n".join(entries) + "\n")
    tokenizer = BertTokenizer(vocab={word: number for number, word in enumerate(entries)}, do_lower_case=True)
    tokenizer.backend_tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text('{"do_lower_case": true, "model_max_length": 512}')
    return len(entries)


def write_bert(folder: Path, layers: int = 1) -> Written:
    """With the old names of layer norms and the parts of pre-training that a masked LM has no use for."""
    folder.mkdir()
    size = write_word_pieces(folder)
    small = BertConfig(
        vocab_size=size,
        hidden_size=32,
        num_hidden_layers=layers,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=64,
        pad_token_id=0,
    )
    network = random_weights(BertForMaskedLM(small), 5)
    weights = {k: w for k, w in network.state_dict().items() if "predictions.decoder" not in k}  # tied
    weights = {re.sub(r"LayerNorm\.weight$", "LayerNorm.gamma", k): w for k, w in weights.items()}
    weights = {re.sub(r"LayerNorm\.bias$", "LayerNorm.beta", k): w for k, w in weights.items()}
    weights |= {
        "bert.pooler.dense.weight": torch.zeros(32, 32),
        "bert.pooler.dense.bias": torch.zeros(32),
        "cls.seq_relationship.weight": torch.zeros(2, 32),
        "cls.seq_relationship.bias": torch.zeros(2),
    }
    write_shards(folder, weights)
    write_config(
        folder,
        {
            "architectures": ["BertForMaskedLM"],
            "attention_probs_dropout_prob": 0.1,
            "gradient_checkpointing": False,
            "hidden_act": "gelu",
            "hidden_dropout_prob": 0.1,
            "hidden_size": 32,
            "initializer_range": 0.02,
            "intermediate_size": 64,
            "layer_norm_eps": 1e-12,
            "max_position_embeddings": 64,
            "model_type": "bert",
            "num_attention_heads": 4,
            "num_hidden_layers": layers,
            "pad_token_id": 0,
            "position_embedding_type": "absolute",
            "transformers_version": "4.6.0.dev0",
            "type_vocab_size": 2,
            "use_cache": True,
            "vocab_size": size,
        },
    )
    return folder, network


def write_distilbert(folder: Path, layers: int = 1) -> Written:
    folder.mkdir()
    size = write_word_pieces(folder)
    own = {"dim": 32, "hidden_dim": 64, "n_heads": 4, "n_layers": layers, "max_position_embeddings": 64}
    network = random_weights(DistilBertForMaskedLM(DistilBertConfig(vocab_size=size, **own)), 6)
    write_shards(folder, {k: w for k, w in network.state_dict().items() if k != "vocab_projector.weight"})  # tied
    write_config(
        folder,
        own
        | {
            "activation": "gelu",
            "architectures": ["DistilBertForMaskedLM"],
            "attention_dropout": 0.1,
            "dropout": 0.1,
            "initializer_range": 0.02,
            "model_type": "distilbert",
            "pad_token_id": 0,
            "qa_dropout": 0.1,
            "seq_classif_dropout": 0.2,
            "sinusoidal_pos_embds": False,
            "tie_weights_": True,
            "transformers_version": "4.10.0.dev0",
            "vocab_size": size,
        },
    )
    return folder, network


def write_roberta(folder: Path, layers: int = 1) -> Written:
    """As the older ones are: vocab.json and merges.txt, and the weights in pytorch_model.bin."""
    folder.mkdir()
    specials = ["<s>", "<pad>", "</s>", "<unk>"]
    letters, merges = byte_vocabulary(["<mask>"])
    vocabulary = {word: number for number, word in enumerate([*specials, *letters])}
    (folder / "vocab.json").write_text(json.dumps(vocabulary))
    (folder / "merges.txt").write_text("#version: 0.2\n" + "\n".join(merges) + "\n")
    own = {
        "vocab_size": len(vocabulary),
        "hidden_size": 32,
        "num_hidden_layers": layers,
        "num_attention_heads": 4,
        "intermediate_size": 64,
        "max_position_embeddings": 66,
        "type_vocab_size": 1,
        "layer_norm_eps": 1e-5,
        "pad_token_id": 1,
        "bos_token_id": 0,
        "eos_token_id": 2,
    }
    network = random_weights(RobertaForMaskedLM(RobertaConfig(**own)), 11)
    tied = ("lm_head.decoder.weight", "lm_head.decoder.bias")
    torch.save({k: w for k, w in network.state_dict().items() if k not in tied}, folder / "pytorch_model.bin")
    write_config(folder, own | {"architectures": ["RobertaForMaskedLM"], "model_type": "roberta", "hidden_act": "gelu"})
    return folder, network


def write_modernbert(folder: Path, layers: int = 1, window: int = 128) -> Written:
    """The first of three layers sees everything, the others half a window to either side."""
    folder.mkdir()
    size = write_word_pieces(folder)
    marks = {"cls_token": "[CLS]", "sep_token": "[SEP]", "mask_token": "[MASK]", "pad_token": "[PAD]"}
    marks |= {"unk_token": "[UNK]", "tokenizer_class": "PreTrainedTokenizerFast"}
    (folder / "tokenizer_config.json").write_text(json.dumps(marks))
    (folder / "vocab.txt").unlink()
    own = {
        "vocab_size": size,
        "hidden_size": 32,
        "num_hidden_layers": layers,
        "num_attention_heads": 4,
        "intermediate_size": 48,
        "max_position_embeddings": 8192,
        "local_attention": window,
        "global_attn_every_n_layers": 3,
        "cls_token_id": 2,
        "sep_token_id": 3,
        "pad_token_id": 0,
    }
    network = random_weights(ModernBertForMaskedLM(ModernBertConfig(**own)), 12)
    write_shards(folder, {k: w for k, w in network.state_dict().items() if k != "decoder.weight"})  # tied
    more = {
        "architectures": ["ModernBertForMaskedLM"],
        "model_type": "modernbert",
        "position_embedding_type": "absolute",
    }
    write_config(
        folder, own | more | {"global_rope_theta": 160000.0, "local_rope_theta": 10000.0, "decoder_bias": True}
    )
    return folder, network


WRITERS: dict[str, Callable[..., Written]] = {
    "llada": write_llada_chat,
    "llada_moe": write_llada_moe,
    "llada2": write_llada2,
    "mmada": write_mmada,
    "dream": write_dream,
    "a2d": write_a2d,
    "sdar": write_sdar,
    "sdar_4b": write_sdar_4b,
    "sdar_moe": write_sdar_moe,
    "efficient_dlm": write_efficient_dlm,
    "fast_dllm": write_fast_dllm,
    "open_dllm": write_open_dllm,
    "bert": write_bert,
    "distilbert": write_distilbert,
    "roberta": write_roberta,
    "modernbert": write_modernbert,
}
ENCODERS = ("bert", "distilbert", "roberta", "modernbert")

# What must be said about a checkpoint whose files do not, and the families that predict one position ahead.
SAID: dict[str, dict[str, Any]] = {
    "open_dllm": {"attention": "bidirectional", "shift": True},
    "sdar_4b": {"attention": "block:4"},
    "efficient_dlm": {"attention": "block:32", "shift": False},
}
SHIFTED = ("dream", "fast_dllm", "open_dllm")


def load_family(name: str, folder: Path, layers: int = 1, **said: Any) -> tuple[str, Any, Any]:
    """Its name, its model, and the network the weights came from."""
    written, network = WRITERS[name](folder / name, layers=layers)
    return name, dard.load_model(written, **SAID.get(name, {}) | said), network


def places(network: Any, positions: torch.Tensor) -> torch.Tensor:
    """Positions as the network itself is told them: RoBERTa's first two rows belong to no position."""
    return positions + (2 if isinstance(network, RobertaForMaskedLM) else 0)
