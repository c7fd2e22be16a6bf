"""The house: which way imports point, that none goes round in a circle, and that no module stands outside a room."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import grimp
import pytest

ROOT = Path(__file__).resolve().parents[1]
OLD_PATHS = ("attention", "readers", "settings")
# What README and CONTRIBUTING of version 0.2 imported or named.
DOCUMENTED = {
    "dard.attention": ("contaminated", "dard_mask", "reach"),
    "dard.decoders": ("Decision", "most_confident", "plain_question", "predict_published", "sweep"),
    "dard.models": ("Model", "with_image", "with_thinking"),
    "dard.readers": ("Frames", "load"),
    "dard.settings": ("setting",),
    "dard.trace": ("json_schema",),
}


def circles(imports: dict[str, set[str]]) -> list[set[str]]:
    """Groups of modules that import each other, directly or by way of others."""

    def reached(start: str) -> set[str]:
        found: set[str] = set()
        ahead = [start]
        while ahead:
            new = imports[ahead.pop()] - found
            found |= new
            ahead += new
        return found

    after = {module: reached(module) for module in imports}
    return [{m for m in found if start in after[m]} for start, found in after.items() if start in found]


def test_a_circle_is_found() -> None:
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == [{"b", "c"}, {"b", "c"}]


def test_no_modules_import_each_other_in_a_circle() -> None:
    """Also inside functions and for types alone."""
    graph = grimp.build_graph("dard", "visual", cache_dir=None)
    assert not circles({module: graph.find_modules_directly_imported_by(module) for module in graph.modules})


# What start-up does without; extras, too, and whatever else is not of Python itself.
HEAVY = {"torch", "gradio", "transformers"}
# Inside a function for a reason of its own: a module that Windows lacks, one that only a checkout has, and the library
# knows no page unless a notebook asks a trace to show itself.
FOR_A_REASON = {"resource", "tests.visitors", "visual.export"}


def imported(tree: ast.AST, inside: bool) -> Iterator[str]:
    """What a module imports when it is imported itself, or inside its functions."""
    for node in ast.iter_child_nodes(tree):
        function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            continue
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from {f"{node.module}.{each.name}" for each in node.names} & set(TREES) or {node.module}
        elif function and inside:
            yield from (name for each in ast.walk(node) for name in imported(each, False))
        elif not function:
            yield from imported(node, inside)


def named(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


TREES: dict[str, ast.AST] = {
    named(path): ast.parse(path.read_text(encoding="utf-8"))
    for room in ("dard", "visual")
    for path in (ROOT / room).rglob("*.py")
}


@cache
def at_start(module: str) -> frozenset[str]:
    """What comes along when a module is imported, directly; its packages do."""
    tree = TREES.get(module)
    return frozenset(imported(tree, False)) | {module.rpartition(".")[0]} if tree else frozenset()


def brought(module: str) -> set[str]:
    """The packages of others that come along when a module is imported."""
    seen: set[str] = set()
    ahead = [module]
    while ahead:
        seen.add(name := ahead.pop())
        ahead += at_start(name) - seen
    return {name.split(".")[0] for name in seen} - {"dard", "visual", ""}


def test_an_import_inside_a_function_keeps_something_heavy_out_of_start_up() -> None:
    needless = []
    for module, tree in TREES.items():
        ours = brought(module)
        at_once = {*imported(tree, False)}
        for name in {*imported(tree, True)} - at_once - FOR_A_REASON:
            if name in TREES:
                more = brought(name) - ours - sys.stdlib_module_names
                good = bool(more & HEAVY or more - {"numpy"})
            else:
                good = name.split(".")[0] not in sys.stdlib_module_names
            needless += [] if good else [(module, name)]
    assert not needless


def test_every_module_is_in_a_room_and_every_room_says_its_promise() -> None:
    loose = {path.stem for path in (ROOT / "dard").glob("*.py")}
    assert loose == {"__init__", "__main__", *OLD_PATHS}
    for room in (path for path in (ROOT / "dard").iterdir() if (path / "__init__.py").is_file()):
        assert (importlib.import_module(f"dard.{room.name}").__doc__ or "").strip(), room


def test_every_module_of_the_server_says_what_it_promises_and_what_it_does_not_know() -> None:
    for path in (ROOT / "visual" / "server").glob("*.py"):
        said = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        assert "\nPromises: " in said and "\nDoes not know: " in said, path


def test_no_file_is_long() -> None:
    """But for the decoder that the rest is about: its rule, its settings and its sentences are one."""
    code = [*(ROOT / "dard").rglob("*.py"), *(ROOT / "visual").rglob("*.py"), ROOT / "app.py"]
    lengths = {path.name: len(path.read_text(encoding="utf-8").splitlines()) for path in code}
    assert {name for name, length in lengths.items() if length > 450} <= {"dard.py"}
    assert lengths["dard.py"] <= 470


@pytest.mark.parametrize("name", OLD_PATHS)
def test_paths_of_version_0_2_are_imports_and_no_more(name: str) -> None:
    body = ast.parse((ROOT / "dard" / f"{name}.py").read_text(encoding="utf-8")).body
    assert all(isinstance(each, ast.ImportFrom) for each in body)


def test_what_was_documented_in_version_0_2_is_there() -> None:
    for module, names in DOCUMENTED.items():
        assert {*names} <= {*dir(importlib.import_module(module))}, module


@pytest.mark.parametrize("module", ["dard.attention", "dard.readers", "dard.models", "dard.trace.readers"])
def test_after_import_dard_alone_a_documented_module_can_be_named(module: str) -> None:
    script = f"import sys, dard; assert 'torch' not in sys.modules; {module}"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
