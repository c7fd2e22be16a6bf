"""Code from elsewhere that registers decoders and models: a file named with `--load`, or an installed package.

A package names its decoders by entry points of the group "dard.decoders" (a class each) and its models by entry points
of "dard.models" (a function without arguments that loads the model, under the entry point's name). What fails is told
in one sentence: a file that was asked for stops the program, a package that merely lies around does not.
"""

from __future__ import annotations

import hashlib
import importlib.util
import sys
import warnings
from collections.abc import Callable, Sequence
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

from dard.core.errors import InputError


def load_file(name: str) -> None:
    """Run a Python file, which registers what it brings."""
    path = Path(name)
    if path.suffix != ".py" or not path.is_file():
        raise InputError(f"--load {name[:100]!r} is not allowed; it must be the path of a Python file")
    module_name = f"dard_loaded_{hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:12]}"
    spec = importlib.util.spec_from_file_location(module_name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module  # dataclasses look their module up
    try:
        spec.loader.exec_module(module)
    except InputError as error:
        raise InputError(f"--load {name[:100]!r}: {error}") from None
    except Exception as error:  # it is somebody's code: whatever it raises is told
        raise InputError(f"--load {name[:100]!r} failed: {type(error).__name__}: {str(error)[:300]}") from error


def files_in(arguments: Sequence[str]) -> list[str]:
    """The files that arguments name with --load.

    >>> files_in(["decode", "--load", "a.py", "x", "--load=b.py"])
    ['a.py', 'b.py']
    >>> files_in([])
    []
    """
    return [
        word.partition("=")[2] if "=" in word else after
        for word, after in zip(arguments, [*arguments[1:], ""], strict=False)
        if word == "--load" or word.startswith("--load=")
    ]


def without_files(arguments: Sequence[str]) -> list[str]:
    """Arguments for another program: those that name files for us left out.

    >>> without_files(["--load", "a.py", "x", "--load=b.py"])
    ['x']
    """
    before = ["", *arguments[:-1]]
    pairs = zip(before, arguments, strict=False)
    return [word for last, word in pairs if last != "--load" and word != "--load" and not word.startswith("--load=")]


def load_packages(group: str, register: Callable[[EntryPoint], object]) -> None:
    """Register what installed packages bring."""
    for entry in entry_points(group=group):
        try:
            register(entry)
        except Exception as error:  # another package's trouble
            warnings.warn(f"{entry.value} of {group} was left out: {type(error).__name__}: {error}", stacklevel=2)
