"""The notebooks of examples/ run from first cell to last, in a real kernel, and print what stands in them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parents[1]
BOOKS = sorted((ROOT / "examples").glob("*.ipynb"))
MACHINE = ("checkpoint",)  # what it prints depends on the machine, so nothing of it is kept


def printed(book: Any) -> list[str]:
    """What every cell of code printed."""
    cells = [cell for cell in book.cells if cell.cell_type == "code"]
    return ["".join(out.text for out in cell.outputs if out.get("name") == "stdout") for cell in cells]


@pytest.mark.parametrize("path", BOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_prints_what_stands_in_it(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    before = set(os.listdir(path.parent))
    book = nbformat.read(path, as_version=4)
    client = NotebookClient(book, timeout=240, resources={"metadata": {"path": str(tmp_path)}})
    ran = client.execute()
    kept = nbformat.read(path, as_version=4)
    assert path.stem in MACHINE or printed(ran) == printed(kept)
    problems = [out for cell in ran.cells for out in cell.get("outputs", ()) if out.get("name") == "stderr"]
    assert not problems
    assert set(os.listdir(path.parent)) == before
    if path.stem == "checkpoint":
        said = "".join(printed(ran))
        assert "embedded on the CPU" in said and "\nfine\n" in said and "The answer is 9 ." in said


@pytest.mark.parametrize("path", BOOKS, ids=lambda path: path.stem)
def test_a_notebook_keeps_texts_only(path: Path) -> None:
    book = nbformat.read(path, as_version=4)
    nbformat.validate(book)
    outputs = [out for cell in book.cells if cell.cell_type == "code" for out in cell.outputs]
    assert all(out.output_type == "stream" for out in outputs) and not (path.stem in MACHINE and outputs)
    assert path.stat().st_size < 20_000


def test_los_diego_takes_ten_cells() -> None:
    book = nbformat.read(ROOT / "examples" / "los-diego.ipynb", as_version=4)
    assert sum(cell.cell_type == "code" for cell in book.cells) == 10
