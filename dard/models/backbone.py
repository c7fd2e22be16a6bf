"""Drives a transformers decoder backbone (Llama, Qwen2, Qwen3, …) bidirectionally.

The causal mask is replaced by an explicit 4-D boolean mask and explicit position ids, and the LM head runs on the
requested rows only. Nothing here knows about a particular checkpoint; `checkpoint.py` reads those.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from dard.models.base import Question
from dard.state import InputError


class BackboneModel:
    """A `PreTrainedModel` with an LM head and its tokenizer, as a `Model`."""

    def __init__(
        self,
        network: Any,
        tokenizer: Any,
        *,
        mask_id: int,
        eos_id: int | None,
        name: str,
        max_length: int,
        defaults: dict[str, Any] | None = None,
    ) -> None:
        self.network = network.eval()
        self.tokenizer = tokenizer
        self.body = network.base_model
        self.head = network.get_output_embeddings()
        self.name = name
        self.mask_id = mask_id
        self.eos_id = eos_id
        self.vocab_size = int(network.config.vocab_size)
        self.num_layers = int(network.config.num_hidden_layers)
        self.max_length = max_length
        self.defaults = defaults or {}

    @property
    def device(self) -> torch.device:
        return self.network.device

    def logits(self, ids: Tensor, positions: Tensor, mask: Tensor, rows: Tensor) -> Tensor:
        """One forward pass over ids [S] at `positions` [S] under `mask` [S, S]; float32 [R, vocab] at `rows` [R]."""
        return self.logits_batch([Question(ids, positions, mask, rows)])[0]

    @torch.no_grad()  # not inference_mode: the caller may overwrite what it gets
    def logits_batch(self, questions: Sequence[Question]) -> list[Tensor]:
        """The same for several independent questions in one pass. Shorter ones are padded; padding is never seen."""
        longest = max(len(q.ids) for q in questions)
        shape = (len(questions), longest)
        ids = torch.full(shape, self.mask_id, dtype=torch.long)
        positions = torch.zeros(shape, dtype=torch.long)
        mask = torch.zeros(len(questions), 1, longest, longest, dtype=torch.bool)
        # A padded query must see something, or its softmax is 0/0 on some kernels: it sees itself.
        mask[:, 0].diagonal(dim1=-2, dim2=-1).fill_(True)
        for number, q in enumerate(questions):
            length = len(q.ids)
            ids[number, :length] = q.ids
            positions[number, :length] = q.positions
            mask[number, 0, :length, :length] = q.mask
        hidden = self.body(
            input_ids=ids.to(self.device),
            attention_mask=mask.to(self.device),
            position_ids=positions.to(self.device),
            use_cache=False,
        ).last_hidden_state
        return [self.head(hidden[number, q.rows.to(hidden.device)]).float() for number, q in enumerate(questions)]

    def encode(self, prompt: str) -> list[int]:
        """Token ids of a text. A word the vocabulary cannot spell is refused, with the closest words it knows."""
        coded = self.tokenizer(prompt, add_special_tokens=False, return_offsets_mapping=True)
        unknown = self.tokenizer.unk_token_id
        if unknown is not None and unknown in coded["input_ids"]:
            spans = zip(coded["input_ids"], coded["offset_mapping"], strict=True)
            missing = list(dict.fromkeys(prompt[a:b] for token, (a, b) in spans if token == unknown))
            raise InputError(self._unknown_words(missing))
        return list(coded["input_ids"])

    def _unknown_words(self, missing: list[str]) -> str:
        words = list(self.tokenizer.get_vocab())
        named = []
        for word in missing[:5]:
            close = difflib.get_close_matches(word[:40], words, n=3, cutoff=0.6)
            named.append(f"{word[:40]!r}" + (f" (close: {', '.join(close)})" if close else ""))
        more = f" and {len(missing) - 5} more" if len(missing) > 5 else ""
        return (
            f"prompt holds {len(missing)} word{'s' if len(missing) > 1 else ''} outside the {len(words)} words "
            f"of model {self.name!r}: {', '.join(named)}{more}"
        )

    def decode(self, ids: Sequence[int]) -> str:
        return self.tokenizer.decode(list(ids), skip_special_tokens=False, clean_up_tokenization_spaces=False)

    def token_text(self, token: int) -> str:
        return self.decode([token])
