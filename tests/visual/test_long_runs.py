"""Decodes of up to 1,024 positions: what is allowed, what is said before and meanwhile, and what they take."""

from __future__ import annotations

import io
import json
import time

import numpy as np
import pytest
from PIL import Image

import dard
from tests.lengthy import Lengthy, lengthy
from visual import export
from visual.export import gif
from visual.payload import MAX_CELLS, payload
from visual.server import estimates
from visual.server.estimates import region_at_most
from visual.server.programs import Programs
from visual.server.requests import DecodeRequest
from visual.server.runs import BYTES_KEPT, Lane, Run
from visual.server.studio import Studio

ASKED = {"prompt": "How many apples", "model": "long", "decoder": "standard"}


@pytest.fixture
def studio(monkeypatch: pytest.MonkeyPatch) -> Studio:
    made = Studio(("long",), 512)
    made.models.loaded["long"] = Lengthy(512)
    monkeypatch.setattr("visual.server.passes.LOADED", dict(made.models.loaded))
    monkeypatch.setattr(estimates, "_PACES", type(estimates._PACES)(estimates._PACES.default_factory))
    return made


def test_how_long_a_region_may_be_is_the_operators_and_said(studio: Studio, monkeypatch: pytest.MonkeyPatch) -> None:
    assert region_at_most() == 1024 and Programs(studio).health()["positions"] == 512
    studio.session(DecodeRequest.of(ASKED | {"settings": {"gen_length": 512, "steps": 16}}))
    with pytest.raises(
        dard.InputError, match="a region of 513 positions is too long for this page; it decodes at most"
    ):
        studio.session(DecodeRequest.of(ASKED | {"settings": {"gen_length": 513, "steps": 16}}))
    monkeypatch.setenv("DARD_POSITIONS", "300")
    assert region_at_most() == 300 and region_at_most(64) == 64
    for told in ("0", "1025", "many", ""):
        monkeypatch.setenv("DARD_POSITIONS", told)
        with pytest.raises(dard.InputError, match=r"DARD_POSITIONS = .* is not allowed"):
            region_at_most()
    with pytest.raises(
        dard.InputError, match=r"--positions -1 is not allowed; it must be a whole number from 1 to 1024"
    ):
        region_at_most(-1)


def test_what_takes_minutes_is_announced_by_what_was_measured(studio: Studio, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = ASKED | {"settings": {"gen_length": 512, "block_length": 512, "steps": 100}}
    assert "note" not in studio.check(asked), "nothing was measured yet"
    run = studio.start(asked)["run"]
    told = [each for each in studio.advance({"run": run, "branch": 0, "steps": 4}) if each["kind"] == "steps"]
    assert [each["of"] for each in told] == [512] * 4
    assert [each["decided"] for each in told] == sorted(each["decided"] for each in told) and told[0]["decided"] > 0
    assert all(each["left"] > 0 for each in told)
    assert "note" not in studio.check(asked), "a hundred such passes take no minute"
    estimates._PACES["long"].append(1000.0)
    note = studio.check(asked)["note"]
    assert note.startswith("This may take up to ") and "at most 100 passes" in note and "Stop keeps what" in note


def test_a_long_run_stays_within_what_is_kept() -> None:
    """What a step of 1,024 positions keeps is what is announced, and a thousand of them have room."""
    model = Lengthy(1024)
    session = dard.Session(model, "How many", "dard", gen_length=1024, block_length=32, tau_c=0.9, tau_u=0.99)
    for _ in range(6):
        session.step()
    run = Run("a", lanes=[Lane("one", session)])
    run.weigh()
    each = run.bytes / (6 * 1024)
    assert 0.4 * estimates.BYTES_PER_POSITION < each < 1.5 * estimates.BYTES_PER_POSITION
    assert 1000 * 1024 * estimates.BYTES_PER_POSITION < BYTES_KEPT
    assert MAX_CELLS >= 1000 * 1024


def test_a_page_of_a_very_long_trace_has_no_sentence_about_what_stayed() -> None:
    short, long = lengthy(96, 40), lengthy(1024, 128)
    assert len(payload(short, lives=True)["steps"][0]["annotation"]["why"]) >= 90
    began = time.perf_counter()
    body = json.dumps(payload(long, lives=True))
    assert len(body) < 12_000_000 and time.perf_counter() - began < 20


def test_an_animation_that_is_too_large_is_thinned(monkeypatch: pytest.MonkeyPatch) -> None:
    chance = np.random.default_rng(0)
    frames = []
    for _ in range(9):
        file = io.BytesIO()
        Image.fromarray(chance.integers(0, 255, (40, 40, 3), dtype=np.uint8)).save(file, "PNG")
        frames.append(file.getvalue())
    whole = gif(frames)
    monkeypatch.setattr(export, "MOST_GIF_BYTES", len(whole) // 2)
    thin = gif(frames)
    assert len(thin) <= len(whole) // 2
    shown = [Image.open(io.BytesIO(each)) for each in (whole, thin)]
    assert [getattr(each, "n_frames", 1) for each in shown] == [9, 3]
    for each in shown:
        each.seek(each.n_frames - 1)  # type: ignore[attr-defined]
    assert shown[0].convert("RGB").tobytes() == shown[1].convert("RGB").tobytes(), "the last one stays"
