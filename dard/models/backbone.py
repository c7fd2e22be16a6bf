"""Drives a transformers network as a mask filler: an explicit boolean mask and explicit positions in place of its own.

Some networks predict one position ahead (`shifted`); some were trained on blocks that never see a later one
(`block_size`, `pattern`). Both hold for every question, whoever asks.
The LM head runs on the requested rows only. A chat model puts a prompt into a conversation of one turn; pieces of a
template stay bare. Nothing here knows about a particular checkpoint: the adapters read those.
"""

from __future__ import annotations

import copy
import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import torch
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit
from torch import Tensor

from dard.core.errors import InputError, UnknownWords
from dard.models.base import Answer, Question, as_trained
from dard.models.checkpoint import as_turn, end_token, mask_token, turn_end
from dard.models.forward import forward
from dard.models.layers import LayerWatch
from dard.models.loading import LoadOptions
from dard.models.prefix import PrefixCache
from dard.models.shifted import with_readers

CLOSE = 0.75  # of difflib's ratio: one letter of four is wrong, capitals apart


def _hint(word: str, words: list[str]) -> str:
    """What to write for a word that is not in a list: its parts, if only spaces are missing, or the closest words.

    >>> _hint("coast.", ["coast", "."]), _hint("88", ["8"]), _hint("coats", ["coast"]), _hint("los", ["Los", "Lot"])
    (' (write: coast .)', ' (write: 8 8)', ' (close: coast)', ' (close: Los)')
    >>> _hint("France", ["Francisco", "rain"])
    ''
    >>> _hint("EVQ", ["E", "Q", "V"]), _hint("E", ["E"])
    (' (write: E V Q)', '')
    """
    letters = all(len(other) == 1 for other in words if other[:1] not in "[<")  # of proteins, say
    parts = list(word) if letters else re.findall(r"[^\W\d_]+|\S", word)
    if len(parts) > 1 and set(parts) <= set(words):
        return f" (write: {' '.join(parts)})"
    known = {each.lower(): each for each in words if each != word}
    close = difflib.get_close_matches(word.lower(), known, n=3, cutoff=CLOSE)
    return f" (close: {', '.join(known[each] for each in close)})" if close else ""


class BackboneModel:
    """A `PreTrainedModel` with an LM head and its tokenizer, as a `Model`."""

    offers: frozenset[str] = frozenset({"attention", "layers", "soft", "batch", "freeze", "prefill"})
    forward_arguments: Mapping[str, Any] = {"use_cache": False}
    think = False
    prefill = ""

    def __init__(
        self,
        network: Any,
        tokenizer: Any,
        *,
        mask_id: int,
        eos_id: int | None,
        name: str,
        max_length: int,
        defaults: Mapping[str, Any] | None = None,
        chat: bool = False,
        shifted: bool = False,
        block_size: int | None = None,
    ) -> None:
        self.network = network.eval()
        self.tokenizer = tokenizer
        self.body = network.base_model
        self.head = network.get_output_embeddings()
        self.name = name
        self.mask_id = mask_id
        self.eos_id = eos_id
        self.vocab_size = int(network.config.vocab_size)
        if not 0 <= mask_id < self.vocab_size:
            raise InputError(
                f"the mask token {mask_id} of model {name!r} is outside its vocabulary of {self.vocab_size}; write the "
                "right one as mask_token_id into config.json"
            )
        self.num_layers = int(network.config.num_hidden_layers)
        self.max_length = max_length
        self.defaults = dict(defaults or {})
        self.chat = chat
        self.shifted = shifted
        self.block_size = block_size
        self.prefixes = PrefixCache()
        if chat and "enable_thinking" in tokenizer.chat_template:
            self.offers = self.offers | {"think"}
        self._texts: dict[int, str] = {}  # of tokens that were asked for; a tokenizer takes longer than a decision
        end = turn_end(tokenizer) if chat else None  # after it a chat model pads with end tokens
        self.end_ids = () if end is None else (end,)
        self.special_ids = frozenset(tokenizer.all_special_ids)

    @classmethod
    def of(
        cls, folder: Path, config: dict[str, Any], network: Any, tokenizer: Any, asked: LoadOptions, **changes: Any
    ) -> Self:
        """The model of a checkpoint, with what its files say about it unless `changes` say otherwise."""
        values = {
            "mask_id": mask_token(folder, config, tokenizer),
            "eos_id": end_token(config, tokenizer),
            "name": asked.name,
            "max_length": int(network.config.max_position_embeddings),
            "defaults": asked.defaults,
            "chat": asked.wants_chat(tokenizer),
        }
        return cls(network, tokenizer, **values | changes)

    @property
    def device(self) -> torch.device:
        return self.network.device

    def logits(self, ids: Tensor, positions: Tensor, mask: Tensor, rows: Tensor) -> Tensor:
        """One forward pass over ids [S] at `positions` [S] under `mask` [S, S]; float32 [R, vocab] at `rows` [R]."""
        return self.answer([Question(ids, positions, mask, rows)])[0].logits

    def pattern(self, positions: Tensor) -> Tensor:
        """Who may see whom at these positions [S], bool [S, S]: nobody a later block, if there are blocks."""
        block = positions // (self.block_size or self.max_length + 1)
        return block[:, None] >= block[None, :]

    def as_trained(self, question: Question) -> Question:
        """The question as the network must be asked."""
        frozen = question.frozen
        if frozen is not None and frozen.opening is not None:
            question = replace(question, frozen=replace(frozen, opening=self.as_trained(frozen.opening)))
        question = as_trained(self, question)
        return with_readers(question, self.pattern if self.block_size else None) if self.shifted else question

    @torch.no_grad()  # not inference_mode: the caller may overwrite what it gets
    def answer(self, questions: Sequence[Question]) -> list[Answer]:
        """Independent questions in one pass. Frozen prefixes are of different lengths and rarely shared: with one
        among them, the questions go one by one. Attention is that of the rows that were asked about; readers stand
        after them and are left out."""
        sizes = [len(question.ids) for question in questions]
        questions = [self.as_trained(question) for question in questions]
        if all(q.frozen is None for q in questions):
            answers = self._together(questions)
        else:
            answers = [self._from_frozen(q) if q.frozen else self._together([q])[0] for q in questions]
        return [
            each if each.attention is None else replace(each, attention=each.attention[:, :size, :size])
            for each, size in zip(answers, sizes, strict=True)
        ]

    def _together(self, questions: Sequence[Question]) -> list[Answer]:
        """Shorter questions are padded; padding is never seen."""
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
        with LayerWatch(self.body, questions) as watch:
            hidden, attention = forward(self.body, questions, ids, positions, mask, **self.forward_arguments)
        return [
            Answer(
                self.head(hidden[number, q.rows.to(hidden.device)]).float(),
                attention[number],
                watch.logits(self.head, number) if q.layers else None,
            )
            for number, q in enumerate(questions)
        ]

    def _from_frozen(self, question: Question) -> Answer:
        """In all passes but its opening a frozen prefix costs nothing."""
        with LayerWatch(self.body, [question]) as watch:
            hidden, attention = self.prefixes.answer(self.body, question)
        return Answer(self.head(hidden).float(), attention, watch.logits(self.head, 0) if question.layers else None)

    @property
    def words(self) -> list[str]:
        """Every word it knows, in the order of their ids, if its tokenizer has a word per token; none otherwise."""
        backend = getattr(self.tokenizer, "backend_tokenizer", None)
        by_spaces = isinstance(getattr(backend, "pre_tokenizer", None), WhitespaceSplit)
        if backend is None or not by_spaces or not isinstance(backend.model, WordLevel):
            return []
        known = self.tokenizer.get_vocab()
        return sorted(known, key=lambda word: known[word])

    def encode(self, prompt: str) -> list[int]:
        """Token ids of a prompt; a chat model puts it into a conversation that waits for the answer."""
        return self.encode_piece((as_turn(self.tokenizer, prompt, self.think) if self.chat else prompt) + self.prefill)

    def with_thinking(self) -> Self:
        """This model, told to think first; weights are shared."""
        return self._but(think=True)

    def with_prefill(self, text: str) -> Self:
        """This model, which finds its answer begun with a text; weights are shared."""
        return self._but(prefill=text)

    def _but(self, **changes: Any) -> Self:
        told = copy.copy(self)
        told.__dict__.update(changes)
        return told

    def encode_piece(self, text: str) -> list[int]:
        """Token ids of a bare text. A word the vocabulary cannot spell is refused, with the closest words it knows."""
        coded = self.tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
        unknown = self.tokenizer.unk_token_id
        if unknown is not None and unknown in coded["input_ids"]:
            spans = zip(coded["input_ids"], coded["offset_mapping"], strict=True)
            missing = list(dict.fromkeys(text[a:b] for token, (a, b) in spans if token == unknown))
            raise UnknownWords(self._unknown_words(missing), missing)
        return list(coded["input_ids"])

    def _unknown_words(self, missing: list[str]) -> str:
        words = sorted(self.tokenizer.get_vocab())  # which comes in any order
        named = [f"{word[:40]!r}{_hint(word[:40], words)}" for word in missing[:5]]
        more = f" and {len(missing) - 5} more" if len(missing) > 5 else ""
        return (
            f"holds {len(missing)} word{'s' if len(missing) > 1 else ''} outside the {len(words)} words "
            f"of model {self.name!r}: {', '.join(named)}{more}"
        )

    def decode(self, ids: Sequence[int]) -> str:
        return self.tokenizer.decode(list(ids), skip_special_tokens=False, clean_up_tokenization_spaces=False)

    def token_text(self, token: int) -> str:
        if token not in self._texts:
            self._texts[token] = self.decode([token])
        return self._texts[token]
