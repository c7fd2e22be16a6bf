"""States are declared: whatever letters a trace has, they are read, counted, told and shown by their roles."""

from __future__ import annotations

from dataclasses import replace

import pytest
from rich.console import Console

import dard
from dard.cli.terminal import show_trace
from dard.core.errors import InputError
from dard.decoders.threshold import Threshold
from dard.models.scripted import LOS_DIEGO, los_diego
from dard.trace import About, StateKind, Trace
from dard.trace.metrics import measure
from dard.trace.records import Start, Step
from dard.trace.words import summary, words_of

OWN = (
    StateKind("N", "noise", "blank"),
    StateKind("D", "draft", "tentative"),
    StateKind("A", "accepted", "tentative"),
    StateKind("W", "written", "decided"),
)


def own_trace() -> Trace:
    """Two positions: one is accepted, taken back and written, the other only written."""
    rows = [("AN", [5, 9], {1: 6}, {"decided": [0]}), ("DN", [8, 7], {0: 5, 1: 6}, {}), ("WW", [5, 6], {}, {})]
    steps = [
        Step(n, (0, 2), tokens, states, {"confidence": [0.5, 0.5]}, events=events, drafts=drafts)
        for n, (states, tokens, drafts, events) in enumerate(rows, 1)
    ]
    return Trace(
        model="m", num_layers=1, decoder="own", settings={}, prompt="p", prompt_tokens=[1], mask_id=None, eos_id=None,
        fixed=[False, False], start=Start([3, 4], "NN", [0.0, 0.0]), steps=steps,
        token_text={n: f"t{n}" for n in range(10)}, text="t5 t6", about=About(title="Own", states=OWN),
    )  # fmt: skip


def test_states_and_drafts_are_saved_and_read_back() -> None:
    trace = own_trace()
    again = Trace.from_bytes(trace.to_bytes())
    assert again.about.states == OWN and again.mask_id is None
    assert [step.drafts for step in again.steps] == [step.drafts for step in trace.steps]
    assert again.steps[1].read == [5, 6] and again.steps[2].read_before == [5, 6]


def test_roles_say_what_is_finished_filled_and_told() -> None:
    trace = own_trace()
    assert trace.finished and not replace(trace, steps=trace.steps[:2]).finished
    assert measure(trace).tokens_per_pass == 2 / 3
    assert trace.why(trace.steps[0], 0) == "'t5' at 0 was decided, as accepted: confidence 0.50."
    assert trace.why(trace.steps[1], 1) == "Position 1 stays noise: confidence 0.50."
    assert summary(trace.steps[0], trace.about, words_of(trace)) == "Step 1. 't5' at 0 decided."


def test_a_terminal_shows_the_draft_and_not_the_noise() -> None:
    console = Console(width=100, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    show_trace(console, own_trace())
    shown = console.export_text()
    assert "t5A t6" in shown and "t9" not in shown and "t5W t6W" in shown


def test_the_states_of_masked_decoding_are_the_default() -> None:
    assert [(kind.letter, kind.title, kind.role) for kind in About().states] == [
        ("M", "masked", "blank"), ("C", "candidate", "tentative"), ("U", "unmasked", "decided"),
    ]  # fmt: skip
    assert [kind.letter for kind in dard.decode(los_diego(), LOS_DIEGO, "wino").about.states] == ["M", "U"]


def test_a_decoder_declares_the_states_it_uses() -> None:
    class Undeclared(Threshold):
        name = "undeclared"
        states = "MX"

    with pytest.raises(InputError, match="'X', which its about does not declare"):
        dard.register_decoder(Undeclared)
