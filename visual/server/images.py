"""Pictures that visitors gave, for models that take them.

Promises: a picture is checked when it arrives and known by an unguessable name afterwards; it is kept as it came, so
many and so many bytes of all of them, the oldest go first, and the model's reading of a picture is made once.
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
    from dard.models import Model

KEPT = 30
BYTES_KEPT = 64 << 20  # of the files of all of them
TOGETHER_AT_MOST = 3  # pictures of one prompt: 1027 tokens each
See = Callable[[str, "Model", list[Any], str], "Model"]
SMALL = 256  # pixels of the longer side of what the page shows


class Images:
    """The pictures of all visitors."""

    def __init__(self) -> None:
        self._images: OrderedDict[str, bytes] = OrderedDict()
        self._seen: dict[tuple[tuple[str, ...], str, str], Model] = {}  # pictures, fit, model → the model that saw them
        self._lock = threading.Lock()

    def keep(self, content: bytes) -> dict[str, Any]:
        """Check a picture and keep it: its name, its size, and a small copy as a data address."""
        from dard.models.images import open_image

        image = open_image(content)
        name = secrets.token_urlsafe(18)
        with self._lock:
            self._images[name] = content
            while len(self._images) > KEPT or sum(map(len, self._images.values())) > max(BYTES_KEPT, len(content)):
                gone, _ = self._images.popitem(last=False)
                self._seen = {key: model for key, model in self._seen.items() if gone not in key[0]}
        width, height = image.size
        image.thumbnail((SMALL, SMALL))
        file = io.BytesIO()
        image.save(file, "PNG")
        address = f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"
        return {"image": name, "width": width, "height": height, "small": address}

    def show(self, name: str, model: Model, names: tuple[str, ...], fit: str, see: See) -> Model:
        """The model of this name with these pictures before every prompt; `see` makes it."""
        with self._lock:
            files = [self._images[each] for each in names if each in self._images]
            if len(files) < len(names):
                raise InputError("the server has forgotten this picture; choose it again")
            for each in names:
                self._images.move_to_end(each)
        key = (names, fit, name)
        if key not in self._seen:
            from dard.models.images import open_image

            self._seen[key] = see(name, model, [open_image(each) for each in files], fit)
        return self._seen[key]
