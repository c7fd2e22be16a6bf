"""What a user asked `load_model` for besides the checkpoint itself, as the adapters get it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dard.core.errors import InputError
from dard.models.checkpoint import MARK, as_turn
from dard.models.placement import Placement

ATTENTION = re.compile(r"^(?:bidirectional|block:([1-9]\d{0,3}))$")


@dataclass(frozen=True)
class LoadOptions:
    """`chat` None: as the checkpoint's tokenizer has it. `defaults` are settings of decoders.
    `image_encoder` is a folder or a hub id, for models that take images. `attention` ("bidirectional" or "block:N") and
    `shift` (it predicts one position ahead) say how a model was trained whose files do not; None: as they do."""

    placement: Placement
    name: str
    chat: bool | None = None
    defaults: Mapping[str, Any] = field(default_factory=dict)
    image_encoder: str | None = None
    attention: str | None = None
    shift: bool | None = None

    def block_size(self, told: int | None) -> int | None:
        """The size of the model's blocks, None where it sees everything; `told` is what its files say.

        >>> from dard.models.placement import read_placement
        >>> LoadOptions(read_placement(), "m", attention="block:4").block_size(None)
        4
        """
        if self.attention is None:
            return told
        matched = ATTENTION.match(self.attention)
        if matched is None:
            raise InputError(
                f"attention = {self.attention[:40]!r} is not allowed; write bidirectional, or block:N with the number "
                "of tokens N of a block"
            )
        return int(matched[1]) if matched[1] else None

    def wants_chat(self, tokenizer: Any) -> bool:
        """Whether prompts are put into a conversation. A template whose marks the vocabulary lacks does not count: the
        marks would be spelled out, piece by piece (LLaDA-8B-Base comes with the template of LLaDA-8B-Instruct)."""
        lacks = "no chat template"
        if getattr(tokenizer, "chat_template", None):
            known = tokenizer.get_vocab()
            unknown = [mark for mark in MARK.findall(as_turn(tokenizer, "")) if mark not in known]
            lacks = f"a chat template with {unknown[0]}, which is no token of its vocabulary" if unknown else ""
        if self.chat and lacks:
            raise InputError(f"chat = True is not allowed for model {self.name!r}: its tokenizer has {lacks}")
        return not lacks if self.chat is None else self.chat
