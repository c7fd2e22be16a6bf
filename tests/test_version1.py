"""Files of version 1 still open and show the same: a copy of the gallery of 0.1, and what 0.1 showed of it."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

import dard
from visual.payload import payload

FOLDER = Path(__file__).parent / "version1"
FILES = sorted(FOLDER.glob("*.trace.json.gz"))
SHOWN: dict[str, list[dict[str, Any]]] = json.loads(gzip.decompress((FOLDER / "shown.json.gz").read_bytes()))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name.split(".")[0])
def test_a_file_of_version_1_shows_what_it_did(path: Path) -> None:
    trace = dard.Trace.load(path)
    told = SHOWN[path.name.removesuffix(".trace.json.gz")]
    assert len(told) == trace.num_steps
    for step, was in zip(trace.steps, told, strict=True):
        assert (step.confidence, step.weights) == (was["confidence"], was["weights"])
        assert {name: positions for name, positions in step.events.items() if positions} == was["events"]
        everywhere = range(len(step.tokens))
        found = {name: [[list(pair) for pair in top.at(i)] for i in everywhere] for name, top in step.paths.items()}
        assert found == was["top"]
        assert [trace.why(step, i) for i in everywhere] == was["why"]
    assert payload(trace)["about"]["title"] == dard.decoders.get_decoder(trace.decoder).title


@pytest.mark.parametrize("path", FILES[:3], ids=lambda path: path.name.split(".")[0])
def test_it_is_saved_as_version_2(path: Path) -> None:
    old = dard.Trace.load(path)
    new = dard.Trace.from_bytes(old.to_bytes())
    assert json.loads(old.to_bytes(compress=False))["version"] == 2
    assert new.to_bytes() == old.to_bytes()


def test_a_decoder_that_is_not_known_is_shown_by_its_columns() -> None:
    body = json.loads(gzip.decompress(FILES[0].read_bytes()))
    body["decoder"] = "somebody_elses"
    trace = dard.Trace.from_bytes(json.dumps(body).encode())
    assert trace.steps[0].weights and "was revoked" in " ".join(
        trace.why(step, i) for step in trace.steps for i in step.demoted if step.why.pop(i, None) is not None
    )
