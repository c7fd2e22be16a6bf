"""Packages that few need: pyproject.toml lists them as extras, and what needs one asks for it here first."""

from __future__ import annotations

import importlib.util

from dard.core.errors import InputError


def has(package: str) -> bool:
    return importlib.util.find_spec(package.replace("-", "_")) is not None


def need(what: str, extra: str, *packages: str) -> None:
    """Refuse with one sentence what needs packages of an extra that are not installed.

    >>> need("it", "large", "no-such")
    Traceback (most recent call last):
    dard.core.errors.InputError: it needs no-such, which is not installed; install the extra 'large' of dard-studio
    """
    missing = [name for name in packages if not has(name)]
    if missing:
        verb = "which is" if len(missing) == 1 else "which are"
        raise InputError(
            f"{what} needs {' and '.join(missing)}, {verb} not installed; install the extra {extra!r} of dard-studio"
        )
