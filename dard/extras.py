"""Packages that few need: pyproject.toml lists them as extras, and what needs one asks for it here first."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING

from dard.state import InputError

if TYPE_CHECKING:
    from dard.session import Session
    from dard.trace import Trace
    from visual.notebook import Notebook


def has(package: str) -> bool:
    return importlib.util.find_spec(package.replace("-", "_")) is not None


def need(what: str, extra: str, *packages: str) -> None:
    """Refuse with one sentence what needs packages of an extra that are not installed.

    >>> need("this", "large", "no-such-package")
    Traceback (most recent call last):
    dard.state.InputError: this needs no-such-package, which is not installed; install the extra 'large' of dard-studio
    """
    missing = [name for name in packages if not has(name)]
    if missing:
        verb = "which is" if len(missing) == 1 else "which are"
        raise InputError(
            f"{what} needs {' and '.join(missing)}, {verb} not installed; install the extra {extra!r} of dard-studio"
        )


def widget(of: Session | Trace) -> Notebook:
    """The viewer in a notebook: a `Session` live (Step, Run and What if against its model), or a `Trace`.

    Where one looks comes back: `widget.step`, `widget.selected` (both can be set), and `widget.trace`.

    >>> import dard
    >>> from dard.models.scripted import LOS_DIEGO, los_diego
    >>> shown = widget(dard.Session(los_diego(), LOS_DIEGO, tau_c=0.4))
    >>> shown.step, shown.trace.num_steps
    (0, 0)
    """
    need("a live widget", "notebook", "anywidget")
    from visual.notebook import Notebook

    return Notebook(of)
