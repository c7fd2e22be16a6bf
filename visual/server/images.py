"""Pictures that visitors gave, for models that take them.

Promises: a picture is checked when it arrives and known by an unguessable name afterwards; only so many are kept, the
oldest go first, and the model's reading of a picture is made once.
Does not know: the page, prompts, decoders.
"""

from __future__ import annotations

import base64
import io
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dard.core.errors import InputError

if TYPE_CHECKING:
    from PIL import Image

    from dard.models import Model

KEPT = 30
TOGETHER_AT_MOST = 3  # pictures of one prompt: 1027 tokens each
See = Callable[[str, "Model", list[Any], str], "Model"]
SMALL = 256  # pixels of the longer side of what the page shows


class Images:
    """The pictures of all visitors."""

    def __init__(self) -> None:
        self._images: OrderedDict[str, Image.Image] = OrderedDict()
        self._seen: dict[tuple[tuple[str, ...], str, str], Model] = {}  # pictures, fit, model → the model that saw them
        self._lock = threading.Lock()

    def keep(self, content: bytes) -> dict[str, Any]:
        """Check a picture and keep it: its name, its size, and a small copy as a data address."""
        from dard.models.images import open_image

        image = open_image(content)
        name = secrets.token_urlsafe(18)
        with self._lock:
            self._images[name] = image
            while len(self._images) > KEPT:
                gone, _ = self._images.popitem(last=False)
                self._seen = {key: model for key, model in self._seen.items() if gone not in key[0]}
        small = image.copy()
        small.thumbnail((SMALL, SMALL))
        file = io.BytesIO()
        small.save(file, "PNG")
        address = f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"
        return {"image": name, "width": image.width, "height": image.height, "small": address}

    def show(self, name: str, model: Model, names: tuple[str, ...], fit: str, see: See) -> Model:
        """The model of this name with these pictures before every prompt; `see` makes it."""
        with self._lock:
            images = [self._images.get(each) for each in names]
            if None in images:
                raise InputError("the server has forgotten this picture; choose it again")
            for each in names:
                self._images.move_to_end(each)
        key = (names, fit, name)
        if key not in self._seen:
            self._seen[key] = see(name, model, images, fit)
        return self._seen[key]
