"""DiffusionGemma: transformers' own network, which denoises canvases of random tokens and knows no mask.

A causal encoder reads what is text into a cache, canvas by canvas, and a decoder with the same weights, of which every
position sees all of cache and canvas, predicts the canvas. A pass is told what the one before predicted
(self-conditioning); kept of that is the mix of embeddings it comes to, and not the logits, a hundred times larger.
Text alone: a picture in the prompt is not read. Attention is not handed out, and who sees whom cannot be changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from transformers import DiffusionGemmaConfig, DiffusionGemmaForBlockDiffusion, DynamicCache

from dard.core.errors import InputError
from dard.models.backbone import BackboneModel
from dard.models.base import NO_MASK, Answer, Question
from dard.models.checkpoint import as_config, load_network, load_tokenizer
from dard.models.loading import LoadOptions

GENERATION = (
    "max_denoising_steps", "t_min", "t_max", "stability_threshold", "confidence_threshold",
)  # fmt: skip

COMPARED = {
    "DiffusionGemma": (
        "transformers' own class, whose `generate` gives the same tokens in as many passes under the same seed "
        "(`tests/decoders/test_renoise.py`)",
        "26 B weights, and pictures in a prompt",
    ),
}


def matches(config: dict[str, Any]) -> bool:
    return config.get("model_type") == "diffusion_gemma"


def load(folder: Path, config: dict[str, Any], asked: LoadOptions) -> CanvasModel:
    network = load_network(
        folder, DiffusionGemmaForBlockDiffusion, as_config(DiffusionGemmaConfig, config), asked.placement
    )
    tokenizer = load_tokenizer(folder)
    return CanvasModel(network, tokenizer, name=asked.name, defaults=asked.defaults, chat=asked.wants_chat(tokenizer))


class CanvasModel(BackboneModel):
    """A network that denoises canvases, and its tokenizer, as a `Model` that offers "noise"."""

    offers = frozenset({"noise"})

    def __init__(self, network: Any, tokenizer: Any, *, name: str, defaults: Any = None, chat: bool = False) -> None:
        text, generation = network.config.get_text_config(), network.generation_config
        self.network, self.tokenizer = network.eval(), tokenizer
        self.name, self.chat, self.mask_id = name, chat, NO_MASK
        ends = generation.eos_token_id  # and not the config's: with none here, `generate` ends with its length, too
        ends = list(ends) if isinstance(ends, list | tuple) else [] if ends is None else [ends]
        self.eos_id, self.end_ids = (ends[0] if ends else None), tuple(ends[1:])
        self.pad_id = generation.pad_token_id
        self.vocab_size, self.num_layers = int(text.vocab_size), int(text.num_hidden_layers)
        self.max_length = int(text.max_position_embeddings)
        self.canvas_length = int(network.config.canvas_length)
        self.special_ids = frozenset(getattr(tokenizer, "all_special_ids", ()))
        own = {key: getattr(generation, key, None) for key in GENERATION}
        own["entropy_bound"] = getattr(getattr(generation, "sampler_config", None), "entropy_bound", None)
        self.defaults = {key: value for key, value in (own | dict(defaults or {})).items() if value is not None}
        self.block_size, self.shifted = None, False
        self._texts: dict[int, str] = {}
        self._read: tuple[list[int], int, Any] = ([], 0, None)  # what is in the cache, where its prompt ends

    @torch.no_grad()
    def answer(self, questions: Sequence[Question]) -> list[Answer]:
        """One question at a time: the last canvas of its ids, after all that is before it."""
        return [Answer(self._denoised(question)) for question in questions]

    def _denoised(self, question: Question) -> Tensor:
        noise, size = question.noise, self.canvas_length
        if noise is None or not torch.equal(question.rows, torch.arange(len(question.ids) - size, len(question.ids))):
            raise InputError(f"model {self.name!r} answers about its last canvas of {size} positions, and nothing else")
        ids, device = question.ids.tolist(), self.device
        cache = self._cache(ids[:-size], noise.prompt)
        canvas = torch.tensor([ids[-size:]], device=device)
        decoder = self.network.model.decoder
        seen = decoder.create_diffusion_decoder_attention_mask(
            config=self.network.config,
            inputs_embeds=canvas[..., None],
            past_key_values=cache,
            decoder_attention_mask=torch.ones(1, len(ids), dtype=torch.bool, device=device),
        )
        positions = torch.arange(len(ids) - size, len(ids), dtype=torch.int32, device=device)[None]
        told = noise.told
        hook = decoder.self_conditioning.register_forward_pre_hook(
            lambda module, args: args if told is None else (args[0], told.to(args[1].device)[None])
        )
        try:
            out = self.network(
                decoder_input_ids=canvas,
                decoder_attention_mask=seen,
                past_key_values=cache,
                decoder_position_ids=positions,
            )
        finally:
            hook.remove()
        return out.logits[0].float()

    def _cache(self, ids: list[int], prompt: int) -> Any:
        """The cache of a text. It is read in the pieces in which it came to be, the prompt and then canvas by canvas,
        so that its numbers are those of transformers' `generate`; what is there of it stays."""
        known, begun, cache = self._read
        if cache is None or begun != prompt or ids[: len(known)] != known:
            known, cache = [], DynamicCache(config=self.network.config.get_text_config(decoder=True))
        while len(known) < len(ids):
            end = prompt if not known else len(known) + self.canvas_length
            self._encode(ids[len(known) : end], len(known), cache)
            known = ids[:end]
        self._read = (known, prompt, cache)
        return cache

    def _encode(self, ids: list[int], begin: int, cache: Any) -> None:
        encoder, device = self.network.model.encoder, self.device
        positions = torch.arange(begin, begin + len(ids), dtype=torch.int32, device=device)[None]
        seen = encoder.create_masks_for_generate(
            config=self.network.config,
            inputs_embeds=torch.empty((1, len(ids), 0), dtype=self.network.dtype, device=device),
            attention_mask=torch.ones(1, begin + len(ids), dtype=torch.bool, device=device),
            past_key_values=cache,
            position_ids=positions,
        )
        tokens = torch.tensor([ids], device=device)
        encoder(input_ids=tokens, attention_mask=seen, past_key_values=cache, position_ids=positions)

    @torch.no_grad()
    def conditioning(self, logits: Tensor) -> Tensor:
        """What a pass is told of the logits of the one before: the embeddings they come to, [L, hidden]."""
        table = self.network.model.decoder.embed_tokens
        weight = table.weight
        shares = logits.to(weight.dtype).softmax(dim=-1, dtype=torch.float32).to(weight.dtype)
        return torch.matmul(shares[None], weight)[0] * table.embed_scale.to(weight.dtype)
