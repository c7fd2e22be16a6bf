"""What a user asked `load_model` for besides the checkpoint itself, as the adapters get it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dard.models.placement import Placement
from dard.state import InputError


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
        """Whether prompts are put into a conversation."""
        has_template = bool(getattr(tokenizer, "chat_template", None))
        if self.chat and not has_template:
            raise InputError(f"chat = True is not allowed for model {self.name!r}: its tokenizer has no chat template")
        return has_template if self.chat is None else self.chat
