"""MMaDA-8B: a LLaDA with 8192 image codes after its text tokens.

A picture becomes 1024 codes and stands before the text: `<|mmu|> <|soi|> codes <|eoi|>`; several follow one another.
The codes follow the last token of the *tokenizer* (126,349 tokens), not the 126,464 rows LLaDA's table had, as in the
published code. Only understanding of pictures is here, not making them.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dard.core.errors import InputError
from dard.models import llada
from dard.models.backbone import BackboneModel
from dard.models.checkpoint import load_tokenizer
from dard.models.hub import download
from dard.models.images import ImageSource, as_pixels, open_image
from dard.models.loading import LoadOptions
from dard.models.magvit import REPOSITORY, Encoder, load_encoder
from dard.models.memory import memory_guard

SOI, EOI, MMU = 126084, 126085, 126089  # reserved tokens of LLaDA's vocabulary that MMaDA uses as marks
MARKS = {SOI: "<|soi|>", EOI: "<|eoi|>", MMU: "<|mmu|>"}
SIDE = 512  # pixels; 32 × 32 codes
# What MMaDA was tuned on, the words included. Its tokenizer brings another template, with two line breaks, which its
# demos overwrite.
THINK = (
    "You should first think about the reasoning process in the mind and then provide the user with the answer. "
    "The reasoning process is enclosed within <think> </think> tags, i.e. <think> reasoning process here </think> "
    "answer here\n"
)
TEMPLATE = (
    "{{ bos_token }}{% for m in messages %}<|start_header_id|>{{ m['role'] }}<|end_header_id|>\n"
    f"{{% if enable_thinking %}}{{{{ {THINK!r} }}}}{{% endif %}}"
    "{{ m['content'] | trim }}<|eot_id|>{% endfor %}{{ '<|start_header_id|>assistant<|end_header_id|>\n' }}"
)

COMPARED = {
    "MMaDA": (
        "LLaDA's construction written out, in bfloat16 (`tests/models/test_llada.py`); pictures against the encoder's "
        "description (`tests/models/test_magvit.py`)",
        "8 B weights, and the image encoder's",
    ),
}


def matches(config: dict[str, Any]) -> bool:
    return config.get("model_type") == "mmada" or "MMadaModelLM" in (config.get("architectures") or ())


def load(folder: Path, config: dict[str, Any], asked: LoadOptions) -> MmadaModel:
    rows = {"embedding_size": config.get("new_vocab_size") or config.get("embedding_size")}
    network = llada.load_llama(folder, config | rows, asked)
    tokenizer = load_tokenizer(folder)
    codes = int(config.get("codebook_size", 8192))
    if not MMU < len(tokenizer) <= network.config.vocab_size - codes:
        raise InputError(
            f"model folder {folder.name!r} has {len(tokenizer)} text tokens and {network.config.vocab_size} rows; "
            f"MMaDA needs more than {MMU} text tokens and room for {codes} image codes after them"
        )
    tokenizer.chat_template = TEMPLATE
    model = MmadaModel.of(folder, config, network, tokenizer, asked)
    model.num_codes = codes
    model.image_encoder = asked.image_encoder or REPOSITORY
    return model


class MmadaModel(BackboneModel):
    """A LLaDA that can be shown pictures: `with_image` gives the same model with them in front of every prompt."""

    offers = BackboneModel.offers | {"images"}
    num_codes: int
    image_encoder: str
    prefix: tuple[int, ...] = ()

    def __init__(self, network: Any, tokenizer: Any, **values: Any) -> None:
        super().__init__(network, tokenizer, **values)
        self.first_code = len(tokenizer)
        self._encoders: list[Encoder] = []  # shared by copies, so that it is loaded once

    def with_image(self, *images: ImageSource, fit: str = "crop") -> MmadaModel:
        """This model with pictures in view; weights are shared. A picture may be a file's bytes, a path, …"""
        prefix = [MMU]
        for image in images:
            pixels = as_pixels(open_image(image), SIDE, fit)
            with memory_guard(f"an image for model {self.name!r}", self.device):
                codes = self.encoder().codes(pixels.to(self.device))
            prefix += [SOI, *(self.first_code + code for code in codes), EOI]
        return self._but(prefix=tuple(prefix))

    def encoder(self) -> Encoder:
        """The image encoder, fetched and loaded when it is first needed."""
        if not self._encoders:
            place = self.image_encoder
            folder = Path(place) if os.path.isdir(place) else download(place)
            encoder = load_encoder(folder, self.device)
            if 2**encoder.bits != self.num_codes:
                raise InputError(
                    f"image encoder {place!r} has {2**encoder.bits} codes; model {self.name!r} knows {self.num_codes}"
                )
            self._encoders.append(encoder)
        return self._encoders[0]

    def decode(self, ids: Sequence[int]) -> str:
        """Text only: image codes and marks have none."""
        return super().decode([token for token in ids if token < self.first_code and token not in MARKS])

    def token_text(self, token: int) -> str:
        if token >= self.first_code:
            return f"<image {token - self.first_code}>"
        return MARKS.get(token) or super().decode([token])
