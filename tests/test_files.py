"""A file is whole, or what it was before; results are written by one process at a time."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import pytest

import dard
from dard.core.files import open_alone, write_whole
from dard.models.scripted import LOS_DIEGO, los_diego


def test_a_disk_that_is_full_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "run.json.gz"
    trace = dard.decode(los_diego(), LOS_DIEGO)
    trace.save(path)
    before = path.read_bytes()

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        dard.decode(los_diego(), LOS_DIEGO, "wino").save(path)
    assert path.read_bytes() == before and os.listdir(tmp_path) == ["run.json.gz"]


def test_a_file_keeps_who_may_read_it_and_a_link_stays_one(tmp_path: Path) -> None:
    path, link = tmp_path / "real", tmp_path / "link"
    path.touch(mode=0o640)
    link.symlink_to(path)
    write_whole(link, b"new")
    assert link.is_symlink() and path.read_bytes() == b"new" and stat.S_IMODE(path.stat().st_mode) == 0o640
    plain = tmp_path / "plain"
    plain.touch()
    write_whole(tmp_path / "fresh", "text")
    assert (tmp_path / "fresh").stat().st_mode == plain.stat().st_mode
    write_whole("/dev/null", "nothing to lose")


def test_a_file_is_appended_to_by_one_process_at_a_time(tmp_path: Path) -> None:
    with open_alone(tmp_path / "rows") as first:
        first.write(b"row\n")
        with pytest.raises(dard.InputError, match=r"^another process is writing to '.*rows'; wait until it has ended"):
            open_alone(tmp_path / "rows")
    with open_alone(tmp_path / "rows") as second:
        second.write(b"row\n")
    assert (tmp_path / "rows").read_bytes() == b"row\nrow\n"
