"""Shared by the tests of models."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.models.families import write_mmada


@pytest.fixture(scope="session")
def mmada_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One for all: its tokenizer has as many words as the real one. Not to be changed."""
    return write_mmada(tmp_path_factory.mktemp("checkpoint") / "mmada")[0]
