"""The diagnosis of a run, as the page, notebooks, programs and assistants ask for it."""

from __future__ import annotations

from typing import Any

import pytest

import dard
from dard.models.scripted import LOS_DIEGO, los_diego
from dard.trace.annotations import board_of, look
from dard.trace.diagnosis_words import diagnosis_sentences
from visual.server import studio as module
from visual.server.programs import Programs
from visual.server.studio import Studio

ASKED = {"prompt": LOS_DIEGO, "decoder": "standard", "settings": {"steps": 1}}
CITY = "/San Diego|Los Angeles/"


@pytest.fixture
def studio(monkeypatch: pytest.MonkeyPatch) -> Studio:
    monkeypatch.setattr(module, "DIAGNOSED_SECONDS", 0)  # one shared pass at a time
    studio = Studio(("los-diego",))
    studio.models.loaded["los-diego"] = los_diego()
    return studio


def ended(studio: Studio, **asked: Any) -> dict[str, Any]:
    run = studio.start(ASKED | asked)["run"]
    list(studio.advance({"run": run}))
    return {"run": run}


def whole(studio: Studio, here: dict[str, Any], **asked: Any) -> list[dict[str, Any]]:
    """Everything that is told until all is known."""
    told = [studio.diagnose({**here, **asked})["diagnosis"]]
    while told[-1]["stage"] != "done":
        told.append(studio.diagnose({**here, "expected": asked.get("expected", "")})["diagnosis"])
    return told


def test_a_diagnosis_comes_in_parts_and_is_kept_with_the_run(studio: Studio) -> None:
    here = ended(studio)
    told = whole(studio, here, expected=CITY)
    stages = list(dict.fromkeys(each["stage"] for each in told))
    assert stages == ["states", "tokens", "causes", "settings", "done"]
    passes = [each["passes"] for each in told]
    assert passes == sorted(passes) and told[0]["annotation"]["progress"].endswith("so far")
    session = dard.Session(los_diego(), LOS_DIEGO, "standard", steps=1)
    session.run()
    known = dard.diagnose(session, expected=CITY)
    again = studio.diagnose({**here, "expected": CITY})["diagnosis"]
    assert again == told[-1] and again["sentences"] == known.sentences
    assert again["sentences"] == diagnosis_sentences(session.trace, known)
    saved = dard.Trace.from_bytes(studio.export({**here, "kind": "trace"})[2])
    assert saved.diagnosis and saved.diagnosis.sentences == known.sentences
    opened = studio.open_trace({"data": saved.to_bytes()})
    assert opened["payload"]["diagnosis"]["annotation"] == again["annotation"]
    with pytest.raises(dard.InputError, match="has no model behind it; decode its prompt to see where it was lost"):
        studio.diagnose({"run": opened["run"]})


def test_another_expected_answer_begins_anew(studio: Studio) -> None:
    here = ended(studio)
    assert whole(studio, here, expected=CITY)[-1]["kind"] == "conflict"
    assert whole(studio, here, expected="Los Diego", anew=True)[-1]["kind"] == "right"
    assert whole(studio, here, anew=True)[-1]["judged_by"] == "task"


def test_what_cannot_be_diagnosed_is_refused_with_a_sentence(studio: Studio) -> None:
    here = ended(studio)
    for _ in range(2):  # and again
        with pytest.raises(dard.InputError, match="is no pattern"):
            studio.diagnose({**here, "expected": "/(/"})
    with pytest.raises(dard.InputError, match="takes longer than"):
        whole(studio, here, expected=r"/(.*)(.*)(.*)(.*)(.*)(.*)\1\2\3\4\5\6[!?]/")
    with pytest.raises(dard.InputError, match="at most 1000"):
        studio.diagnose({**here, "expected": "x" * 1001})
    with pytest.raises(dard.InputError, match="has not ended"):
        studio.diagnose({"run": studio.start(ASKED)["run"]})


def test_a_program_gets_the_sentences_and_the_record(studio: Studio) -> None:
    found = Programs(studio).diagnose({**ASKED, "expected": CITY})
    assert found["diagnosis"]["kind"] == "conflict" and found["diagnosis"]["lost"] == 1
    assert found["sentences"][0].startswith("Lost in step 1: 'Los' at 3 and 'Diego' at 4 were written in the same pass")
    assert all("path" not in each and each["by"] for each in found["diagnosis"]["verdicts"])
    assert "<" not in " ".join(found["sentences"])  # every word is known
    for wrong in ({"expected": "/(/"}, {"seconds": 0}, {"expected": 3}):
        with pytest.raises(dard.InputError):
            Programs(studio).diagnose({**ASKED, **wrong})


def test_a_revocation_is_told_to_be_right_wrong_or_in_vain(studio: Studio) -> None:
    here = ended(studio, decoder="dard", settings={"tau_c": 0.4, "tau_u": 0.8})
    for expected, said in {
        "San Diego": "Step 2 took back 'Los' at 3, rightly: the answer can be had only without it.",
        "Los Angeles": "Step 2 took back 'Los' at 3, wrongly: the answer can be had with it.",
        "Berlin": "Step 2 took back 'Los' at 3, in vain: the answer can be had neither with it nor without it.",
    }.items():
        known = whole(studio, here, expected=expected, anew=True)[-1]
        assert known["annotation"]["revoked"][0] == said


def test_a_board_without_a_solution_says_so() -> None:
    prompt = "Sudoku : 0 0 0 1 1 0 2 0 0 0 0 0 0 0 0 0 Solution :"
    trace = dard.decode(dard.load_model("embedded"), prompt, "standard", gen_length=16, steps=5)
    laid = board_of(trace)
    assert laid is not None
    assert [look(trace, laid, step)["say"] for step in trace.steps[:2]] == [
        "no clash so far, 12 open",
        "no clash, but no solution left, 9 open",
    ]
