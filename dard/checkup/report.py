"""What a checkup found: one line per check, each with a mark and a sentence.

Promises: a report says whether the model may be used, and reads back from its JSON.
Does not know: how a check is made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

Mark = Literal["ok", "note", "fail", "skipped"]
SIGNS: dict[Mark, str] = {"ok": "✓", "note": "!", "fail": "✗", "skipped": "·"}


@dataclass(frozen=True)
class Check:
    """`part` and `name` say what was looked at; `numbers` is what was measured, for programs."""

    part: str
    name: str
    mark: Mark
    sentence: str
    numbers: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Report:
    """`stopped` says why the rest was not tried.

    >>> Report("m", [Check("machine", "memory", "fail", "There is none.")], "it could not be loaded").ok
    False
    """

    model: str
    checks: Sequence[Check]
    stopped: str | None = None
    seconds: float = 0.0

    @property
    def ok(self) -> bool:
        """Nothing failed, and everything was tried."""
        return self.stopped is None and not self.failed

    @property
    def failed(self) -> list[Check]:
        return self.marked("fail")

    def marked(self, mark: Mark) -> list[Check]:
        return [check for check in self.checks if check.mark == mark]

    def __getitem__(self, name: str) -> Check:
        """The check of that name."""
        return next(check for check in self.checks if check.name == name)

    def as_dict(self) -> dict[str, Any]:
        """What `--json` prints."""
        return {"ok": self.ok, **asdict(self)}

    def __str__(self) -> str:
        lines = [f"{SIGNS[each.mark]} {each.part}: {each.name}. {each.sentence}" for each in self.checks]
        return "\n".join([*lines, *([f"Stopped: {self.stopped}."] if self.stopped else [])])


class Stop(Exception):
    """Nothing further makes sense; its text says why."""


class Notes:
    """The checks made so far; `tell` hears each of them at once."""

    def __init__(self, tell: Callable[[Check], None] | None = None) -> None:
        self.checks: list[Check] = []
        self.tell = tell
        self.part = ""

    @contextmanager
    def about(self, part: str) -> Iterator[None]:
        """Checks of one part."""
        before, self.part = self.part, part
        yield
        self.part = before

    def add(self, mark: Mark, name: str, sentence: str, **numbers: Any) -> Check:
        check = Check(self.part, name, mark, sentence, numbers)
        self.checks.append(check)
        if self.tell is not None:
            self.tell(check)
        return check

    def failed(self, name: str) -> bool:
        return any(check.name == name and check.mark == "fail" for check in self.checks)
