"""What a user asked `load_model` for besides the checkpoint itself, as the adapters get it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dard.models.checkpoint import as_turn
from dard.models.placement import Placement
from dard.state import InputError

MARK = re.compile(r"<\|[^|<>\s]{1,60}\|>")  # how a template writes what must be one token


@dataclass(frozen=True)
class Asked:
    """`chat` None: as the checkpoint's tokenizer has it. `defaults` are settings of decoders.
    `image_encoder` is a folder or a hub id, for models that take images."""

    placement: Placement
    name: str
    chat: bool | None = None
    defaults: Mapping[str, Any] = field(default_factory=dict)
    image_encoder: str | None = None

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
