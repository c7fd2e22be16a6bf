"""The models a page offers: each is loaded once, when it is first asked for.

Promises: visitors choose among the names the server was started with; who waits for a model hears how far it is and may
leave, and with the last of them fetching ends.
Does not know: runs, prompts, the page.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from dard.core.errors import InputError
from dard.decoders import DECODERS, make_settings
from dard.models import load_model, offers
from dard.models.registry import find_card
from visual.payload import shown
from visual.server.passes import LOADED

if TYPE_CHECKING:
    from dard.models import Model


def sees_pictures(name: str) -> bool:
    """Whether a model takes pictures, as far as is known before it is loaded."""
    if card := find_card(name):
        return card.images
    from dard.models.families import sees_pictures as told_by_its_folder

    return told_by_its_folder(name)


class Arrival:
    """A model on its way, and how many wait for it."""

    def __init__(self, name: str) -> None:
        card = find_card(name)
        size = f" ({card.parameters} parameters, {card.memory})" if card else ""
        self.name = name
        self.text = f"Loading {shown(name)}{size}; the first time this takes a while …"
        self.waiting = 0
        self.over = threading.Event()
        self.error: Exception | None = None

    def tell(self, doing: str, done: int, total: int) -> None:
        if doing == "fetching" and not self.waiting:
            raise InputError(f"nobody waits for model {shown(self.name)} any more; what has been fetched of it is kept")
        of = f" of {total / 1e9:.1f}" if total else ""
        self.text = f"{doing.capitalize()} {shown(self.name)}: {done / 1e9:.1f}{of} GB …"


class Models:
    """The models of one server, by the names it offers them under."""

    def __init__(self, names: tuple[str, ...], **loading: Any) -> None:
        """`loading` goes to `dard.load_model`: device, dtype, device_map, quantise, chat, …"""
        self.names = names
        self.loading = loading
        self.loaded: dict[str, Model] = {}
        self.missing: dict[str, str] = {}  # models that cannot be had any more, and why
        self.checked: dict[str, dict[str, Any]] = {}  # what the doctor said of models when a Space started
        self._lock = threading.Lock()
        self._one_at_a_time = threading.Lock()
        self._arrivals: dict[str, Arrival] = {}
        self._left: deque[str] = deque(maxlen=100)  # questions of visitors who no longer wait for a model

    def named(self, name: str) -> str:
        """The name that is meant: where none is given, the first."""
        return name or self.names[0]

    def there(self, name: str) -> Model | None:
        """A model if it is loaded already."""
        return self.loaded.get(self.named(name))

    def load(self, name: str, progress: Callable[[str, int, int], None] | None = None) -> Model:
        """A model by its name."""
        if name not in self.names:
            raise InputError(f"unknown model {shown(name)!r}; this page offers {', '.join(self.names)}")
        if name in self.missing:
            raise InputError(self.missing[name])
        with self._one_at_a_time:
            if name not in self.loaded:
                known = ("attention", "shift") if find_card(name) else ()  # the registry says how its own were trained
                loading = {key: value for key, value in self.loading.items() if key not in known}
                self.loaded[name] = LOADED[name] = load_model(name, progress=progress, **loading)
            return self.loaded[name]

    def defaults(self, name: str) -> dict[str, dict[str, Any]] | None:
        """For every decoder the settings it uses on a model where nothing else is asked for: the model's own, then the
        decoder's. None if only the checkpoint can tell, and it has not been loaded."""
        source = self.loaded.get(name) or find_card(name)
        if source is None:
            return None
        return {decoder: make_settings(decoder, {}, source).as_dict() for decoder in DECODERS}

    def take_pictures(self) -> bool:
        """Whether any of them takes pictures."""
        return any("images" in offers(model) for model in self.loaded.values()) or any(map(sees_pictures, self.names))

    def open_to_all_words(self, but: Model) -> str | None:
        """The first other model that can be had and has no closed list of words, as far as is known."""
        others = (name for name in self.names if name not in self.missing and self.loaded.get(name) is not but)
        return next((name for name in others if not getattr(self.loaded.get(name), "words", ())), None)

    def waiting(self, name: str, question: str = "") -> Iterator[dict[str, Any]]:
        """What to tell a visitor while a model is loaded for the first time; nothing if it is there already."""
        name = self.named(name)
        if name not in self.names or name in self.loaded:
            return
        with self._lock:
            new = name not in self._arrivals
            arrival = self._arrivals.setdefault(name, Arrival(name))
            arrival.waiting += 1
        if new:
            threading.Thread(target=self._arrive, args=(arrival,), daemon=True).start()
        try:
            while not arrival.over.is_set():
                yield {"kind": "waiting", "text": arrival.text, "loading": question}
                arrival.over.wait(0.5)
                if question in self._left:
                    self._left.remove(question)
                    raise InputError(f"loading {shown(name)} was left; what has been fetched of it is kept")
        finally:
            with self._lock:
                arrival.waiting -= 1
        if arrival.error is not None:
            raise arrival.error

    def leave(self, question: str) -> None:
        """Whoever asked this no longer waits for a model."""
        self._left.append(question)

    def _arrive(self, arrival: Arrival) -> None:
        try:
            self.load(arrival.name, arrival.tell)
        except Exception as error:  # told to all who wait
            arrival.error = error
        finally:
            with self._lock:
                del self._arrivals[arrival.name]
            arrival.over.set()
