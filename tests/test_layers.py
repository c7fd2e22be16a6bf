"""The layer view: exact against the network cut off behind each layer; its record, its sentence and its endpoint."""

from __future__ import annotations

import json
import re
from itertools import groupby
from typing import Any

import pytest
import torch

import dard
from dard.decoding.loop import ask
from dard.models.base import answer, rows_of
from dard.models.scripted import LOS_DIEGO, los_diego
from dard.trace import LayerRow, Layers, Trace, TraceError
from dard.trace.layers import layers_note
from tests.helpers import body_of
from tests.models.test_answers import without_later_layers
from visual.server.studio import Studio

CASES = [(1, 3), (1, 4), (2, 4), (2, 3)]


@pytest.fixture(scope="module")
def session() -> dard.Session:
    session = dard.Session(dard.load_model("embedded"), LOS_DIEGO, tau_c=0.4, tau_u=0.5)
    session.run()
    return session


@pytest.mark.parametrize(("step", "position"), CASES)
def test_each_layer_says_what_the_network_that_ends_there_would(
    session: dard.Session, step: int, position: int
) -> None:
    model, found = session.model, dard.layers(session, step, position)
    question = ask(session.decoder, model, session.settings, session.at(step - 1).state)
    places = rows_of(question, len(session.state.prompt) + position).tolist()
    assert [row.shadow for row in found.rows] == [place >= 12 for place in places] and len(found.rows) in (1, 2)
    for layer in range(model.num_layers):
        literal = answer(without_later_layers(model, layer), question).logits
        literal[:, model.mask_id] = -torch.inf
        for row, place in zip(found.rows, places, strict=True):
            p = literal[question.rows.tolist().index(place)].softmax(-1)
            assert row.tokens[layer] == int(p.argmax())
            assert row.confidence[layer] == pytest.approx(float(p.max()), abs=1e-5)
            assert row.held[layer] == pytest.approx(float(p[found.token]), abs=1e-5)
    assert all(len(row.tokens) == model.num_layers for row in found.rows)


def test_it_is_about_what_stands_there_or_was_taken_back_or_was_guessed(session: dard.Session) -> None:
    assert [session.steps[1].states[4], session.steps[1].states_before[4]] == ["M", "C"]
    assert dard.layers(session, 2, 4).token == session.steps[0].tokens[4]  # taken back
    assert dard.layers(session, 1, 3).token == session.steps[0].tokens[3]
    slow = dard.Session(session.model, LOS_DIEGO, "standard", steps=2)
    slow.run()
    masked = slow.steps[0].states.index("M")
    found = dard.layers(slow, 1, masked)
    assert found.token == found.rows[0].tokens[-1] and found.rows[0].held[-1] == found.rows[0].confidence[-1]


def test_the_note_tells_what_the_rows_hold(session: dard.Session) -> None:
    trace = session.trace
    trace.layers = [dard.layers(session, *case) for case in CASES]
    trace.learn(session.model.token_text)
    for layers in trace.layers:
        said, rows = layers_note(trace, layers), layers.rows
        told = re.findall(
            r"(?:rom layer|ayer) (\d+) (?:on it|alone) says '(.+?)' \((\S+?)(?:, in the last (\S+))?\)", said
        )
        assert len(told) in (1, len(rows))
        for (first, word, sure, last), row in zip(told, rows[-len(told) :], strict=True):
            spans = [(token, len(list(group))) for token, group in groupby(row.tokens)]
            assert int(first) == len(row.tokens) - spans[-1][1] + 1 and word == trace.word(row.tokens[-1])
            assert sure == f"{row.confidence[int(first) - 1]:.2f}"
            assert last in ("", f"{row.confidence[-1]:.2f}") and bool(last) == (spans[-1][1] > 1)
            assert said.split("before that ")[1].rstrip(".").split(", then ")[-1] == f"'{trace.word(spans[-2][0])}'"
    always = Layers(1, 3, 5, [LayerRow([5, 5], [0.5, 0.75], [0.5, 0.75])])
    assert layers_note(trace, always) == f"Every layer says '{trace.word(5)}' (0.50, in the last 0.75)."
    two = Layers(1, 3, 5, [LayerRow([5], [0.5], [0.5]), LayerRow([6], [0.25], [0.5], shadow=True)])
    assert layers_note(trace, two) == (
        f"The token's own query: every layer says '{trace.word(5)}' (0.50). "
        f"The shadow's query: every layer says '{trace.word(6)}' (0.25)."
    )


def test_layers_are_kept_in_the_file_if_they_were_asked_for(session: dard.Session) -> None:
    trace = session.trace
    assert "layers" not in body_of(trace)
    trace.layers = [dard.layers(session, 2, 4)]
    trace.learn(session.model.token_text)
    again = Trace.from_bytes(trace.to_bytes())
    assert again.layers == trace.layers and again.to_bytes() == trace.to_bytes()
    assert again.layers_at(2, 4) == trace.layers[0] and again.layers_at(1, 4) is None
    assert body_of(trace)["layers"][0]["annotation"]["say"].startswith("From layer 5 on it says 'Angeles'")


@pytest.mark.parametrize(
    ("part", "value"),
    [("step", 9), ("position", 99), ("rows", []), ("token", -1), ("mine", 1), ("tokens", [1]), ("held", [2.0] * 6)],
)
def test_layers_that_do_not_fit_their_trace_are_refused(session: dard.Session, part: str, value: Any) -> None:
    trace = session.trace
    trace.layers = [dard.layers(session, 2, 4)]
    body = body_of(trace)
    record = body["layers"][0]
    (record["rows"][0] if part in ("tokens", "held") else record)[part] = value
    with pytest.raises(TraceError, match="layers"):
        Trace.from_bytes(json.dumps(body).encode())


def test_bad_questions_about_layers_are_a_sentence(session: dard.Session) -> None:
    for ask_for, said in {
        (9, 3): "step must be a whole number from 1 to 3", (1, 99): "position must be a whole number",
        (1, 0): "given by the template",
    }.items():  # fmt: skip
        with pytest.raises(dard.InputError, match=said):
            dard.layers(session, *ask_for)
    with pytest.raises(dard.InputError, match=r"layers are asked of the Session .* is trace.layers_at"):
        dard.layers(session.trace)  # type: ignore[arg-type]
    with pytest.raises(dard.InputError, match=r"^position = None is not allowed"):
        dard.layers(session, 1)
    scripted = dard.Session(los_diego(), LOS_DIEGO)
    scripted.run()
    with pytest.raises(dard.InputError, match="needs layers, which model 'los-diego' does not offer"):
        dard.layers(scripted, 1, 3)


def test_the_page_asks_for_layers_and_they_are_kept_with_the_run() -> None:
    studio = Studio()
    asked = {"run": studio.start({"prompt": LOS_DIEGO, "settings": {"tau_c": 0.4, "tau_u": 0.5}})["run"]}
    list(studio.advance(asked))
    reply = studio.layers({**asked, "step": 1, "position": 3})
    found = reply["layers"]
    assert reply["kind"] == "layers" and len(found["rows"]) == 2 and found["annotation"]["say"].startswith("Layer 6")
    assert {str(token) for row in found["rows"] for token in row["tokens"]} <= reply["words"].keys()
    assert not any(word.startswith("<") for word in reply["words"].values())
    assert studio.show(asked)["payload"]["layers"] == [found]
    saved = Trace.from_bytes(studio.export(asked).content)
    assert saved.layers_at(1, 3) is not None and saved.layers_at(1, 4) is None
    opened = {"run": studio.open_trace({"data": saved.to_bytes()})["run"]}
    assert studio.layers({**opened, "step": 1, "position": 3})["layers"] == found
    with pytest.raises(dard.InputError, match="has no model behind it; decode its prompt to see its layers"):
        studio.layers({**opened, "step": 1, "position": 4})
    assert studio.branch({**asked, "step": 2, "position": 3, "token": "San"})["payload"]["layers"] == [found]
