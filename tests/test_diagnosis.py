"""Diagnosis: against brute force, every kind made and named, every sentence against its numbers, and bad input."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
import torch

import dard
import dard.models
from dard.analysis.careful import ONE_BY_ONE, SURE_ONES
from dard.analysis.diagnosis import diagnose, diagnosing
from dard.analysis.revocations import revocations
from dard.cli.main import main
from dard.decoders import DECODERS
from dard.models.scripted import LOS_DIEGO, los_diego
from dard.results.diagnoses import FILE
from dard.tasks import TASKS
from dard.tasks.judge import judge
from dard.trace import Diagnosis, Trace, TraceError
from dard.trace.diagnosis_panel import panel
from dard.trace.diagnosis_words import diagnosis_sentences
from dard.trace.metrics import solutions_left
from tests import brute
from tests.diagnosed import Case, case, fill, kinds, played
from tests.helpers import body_of
from tests.test_samples import evaluation

RUNS: dict[str, dict[str, Any]] = {
    "standard": {"per_pass": 4}, "dard": {"tau_c": 0.4, "tau_u": 0.5}, "wino": {"threshold": 0.3}, "saber": {"n": 4},
    "threshold": {"threshold": 0.3},
}  # fmt: skip
UNEVEN: list[tuple[int, str]] = [
    (2, "dard"), (3, "wino"), (10, "dard"), (15, "dard"), (17, "dard"), (31, "wino"),
]  # fmt: skip
KINDS = [(kind, number) for kind in kinds() for number in range(3)]


def tokens_found(session: dard.Session, expected: Any = None) -> Diagnosis:
    """A diagnosis up to its kind; causes and settings are left out."""
    for found in diagnosing(session, expected=expected):
        if found.stage in ("causes", "settings"):
            break
    return found


EAGER: dict[str, dict[str, Any]] = {"edit": {"threshold": 0.5}}  # whose wrong words are often lost alone


def wrong_answers(worlds: dict[str, int], seed: int, runs: dict[str, dict[str, Any]] = RUNS) -> Iterator[dard.Session]:
    """The wrong answers of some decoders."""
    model = dard.load_model("embedded")
    for world, count in worlds.items():
        for item in TASKS[world].test_items(count, seed):
            length = {} if item.gen_length is None else {"gen_length": item.gen_length}
            for name, values in runs.items():
                session = dard.Session(model, item.prompt, name, record=False, **values, **length)
                session.run()
                if judge(item.prompt, session.trace.text, model.eos_id not in session.state.tokens) is False:
                    yield session


def comes_back() -> Iterator[dard.Session]:
    """Runs that were lost, could be won again, and were lost."""
    items = TASKS["sudoku-open"].test_items(40, seed=5)
    fast, at_once = {"tau_c": 0.4, "tau_u": 0.5}, {"threshold": 0.4}
    for number, name in UNEVEN:
        settings: dict[str, Any] = {"dard": fast, "wino": at_once}[name]
        session = dard.Session(dard.load_model("embedded"), items[number].prompt, name, gen_length=16, **settings)
        session.run()
        yield session


def is_as_by_force(session: dard.Session, found: Diagnosis, right: brute.Right) -> brute.Verdict:
    told = brute.diagnosed(session, right)
    assert found.winnable == told.winnable and found.lost == told.lost
    assert sorted(positions[0] for positions in found.guilty if len(positions) == 1) == told.singles
    if not told.singles and told.pairs:
        assert sorted(map(tuple, found.guilty)) == told.pairs
    assert found.kind == told.kind
    return told


# Against brute force.


def test_the_lost_step_and_the_guilty_are_those_of_brute_force() -> None:
    tried = 0
    for session in wrong_answers({"places": 7, "captions": 4}, seed=3):
        is_as_by_force(session, tokens_found(session), lambda text, prompt=session.prompt: judge(prompt, text) is True)
        tried += 1
    assert tried >= 12


@pytest.mark.long
def test_fifty_wrong_answers_of_five_decoders_are_those_of_brute_force() -> None:
    tried, uneven, who, kinds_seen = 0, 0, set(), set()
    worlds = {"places": 14, "captions": 8, "countdown": 6, "sudoku-open": 8}
    for session in chain(wrong_answers(worlds, seed=3), wrong_answers({"places": 8}, 3, EAGER), comes_back()):
        right: brute.Right = lambda text, prompt=session.prompt: judge(prompt, text) is True  # noqa: E731
        told = is_as_by_force(session, tokens_found(session), right)
        tried += 1
        uneven += any(later and not earlier for earlier, later in zip(told.winnable, told.winnable[1:], strict=False))
        who.add(session.decoder.name)
        kinds_seen.add(told.kind)
    assert tried >= 40 and len(who) == 6 and uneven >= 5 and {"conflict", "commit", "model"} <= kinds_seen


@pytest.mark.parametrize(("kind", "number"), KINDS)
def test_each_kind_is_made_and_named(kind: str, number: int) -> None:
    made = kinds()[kind][number]
    session = made.run()
    found = diagnose(session, expected=made.expected)
    assert found.kind == kind and found.right == (kind == "right")
    assert (found.lost is None) == (kind in ("right", "model", "cut off"))
    if kind in ("right", "cut off"):
        return
    check = judged_by(made)
    is_as_by_force(session, found, check)


def judged_by(made: Case) -> brute.Right:
    expected = str(made.expected)
    if expected.startswith("/"):
        return lambda text: re.search(expected[1:-1], text) is not None
    return lambda text: expected in text


def uneven(number: int) -> Case:
    """✓ ✗ ✓ ✗: a wrong word is written, taken back, and written again."""
    moves: list[dict[int, str | None]] = [{0: "bad"}, {0: None, 2: "c"}, {0: "bad"}, {1: "b"}]
    moves[number % 2 + 1] |= {3: "d"}
    return case(fill("a b c d"), "a b c d bad", played(moves), 3 + 1, "a b c d")


@pytest.mark.parametrize("number", range(2))
def test_the_last_winnable_state_counts(number: int) -> None:
    session = uneven(number).run()
    found = diagnose(session, expected="a b c d")
    assert found.winnable == [True, False, True, False, False] and found.lost == 3
    is_as_by_force(session, found, lambda text: "a b c d" in text)
    assert "It had been wrong before, after step 1, and came back." in found.sentences


def crowd(most: int) -> Case:
    """So many wrong words in one step, each of which alone spoils the first one: all must be masked to get it back."""
    bad = dict.fromkeys(range(1, most + 1), "bad")

    def rule(i: int, seen: Mapping[int, str]) -> Mapping[str, float]:
        if i == 0:
            return {"bad" if "bad" in [word for place, word in seen.items() if place] else "a": 0.9}
        return {"b": 0.5}

    return case(rule, "a b bad", played([bad, {0: "bad"}]), most + 1, "/^a/")


def test_a_set_of_more_than_two_is_narrowed_down_until_none_can_be_left_out() -> None:
    session = crowd(5).run()
    found = diagnose(session, expected="/^a/")
    assert found.guilty == [[1, 2, 3, 4, 5]] and found.minimal and found.kind == "commit"
    assert "None of the 5 can be left out." in " ".join(found.sentences)
    told = brute.diagnosed(session, lambda text: text.startswith("a"))
    assert (told.singles, told.pairs, told.kind) == ([], [], "commit") and found.winnable == told.winnable


def test_a_search_that_has_used_up_its_completions_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dard.analysis.guilty.AT_MOST", 2)
    found = diagnose(crowd(4).run(), expected="/^a/")
    assert found.guilty == [[1, 2, 3, 4]] and not found.minimal
    assert "The search was ended before it could tell whether fewer are enough." in " ".join(found.sentences)


def test_a_guilty_token_may_be_older_than_the_lost_step() -> None:
    """An older word spoils the first one together with either of two that come later."""

    def rule(i: int, seen: Mapping[int, str]) -> Mapping[str, float]:
        if i == 0:
            return {"bad" if seen.get(1) == "x" and "y" in (seen.get(2), seen.get(3)) else "a": 0.9}
        return {"b": 0.5} if i == 1 else {"c": 0.4}

    moves: list[dict[int, str | None]] = [{1: "x"}, {2: "y", 3: "y"}, {0: "bad"}]
    session = case(rule, "a b c x y bad", played(moves), 4, "/^a/").run()
    found = diagnose(session, expected="/^a/")
    assert (found.lost, found.guilty, found.written) == (2, [[1]], {1: 1})
    assert "'x' at 1 was written in step 1, before the lost one." in found.sentences
    assert "same pass" not in found.sentences[0]
    is_as_by_force(session, found, lambda text: text.startswith("a"))


# Sentences.

HEADLINES = {
    ("model", 0): "The model itself is wrong: one token per pass, it writes the same 'bad b c', which is wrong too.",
    ("cut off", 0): "Cut off: no room was left.",
    ("commit", 0): "Lost in step 1: 'bad' at 0 was written.",
    ("conflict", 0): "Lost in step 1: 'a' at 0 and 'y' at 1 were written in the same pass; neither saw the other.",
    (
        "conflict",
        2,
    ): "Lost in step 2: 'c' at 2 was written and 'a' at 0 was taken back, and only both together lose it.",
    ("revocation", 0): "Lost in step 2: 'a' at 0 was taken back.",
    ("ending", 0): "Lost at the end, in step 3: 'bad' at 0 was accepted as it stood when its block reached its cap.",
    ("ending", 2): "Lost at the end, in step 3: 'bad' at 0 was accepted as it stood when decoding repeated itself.",
}


@pytest.mark.parametrize(("kind", "number"), KINDS)
def test_every_sentence_tells_the_numbers_of_the_record(kind: str, number: int) -> None:
    made = kinds()[kind][number]
    session = made.run()
    found = diagnose(session, expected=made.expected)
    said, trace = found.sentences, session.trace
    if (kind, number) in HEADLINES:
        assert said[0] == HEADLINES[kind, number]
    if kind == "right":
        assert said == ["The answer is right: it is what was expected."]
        return
    text = " ".join(said)
    checked = judged_by(made)
    for words in re.findall(r"From none of the (\d+) states", text):
        assert int(words) == len(found.winnable) == session.state.step + 1 and not any(found.winnable)
    for before, after in re.findall(r"(From the start|After step \d+) careful .* is right; after step (\d+)", text):
        assert int(after) == found.lost and found.winnable[found.lost] is False and found.winnable[found.lost - 1]
        assert before == ("From the start" if found.lost == 1 else f"After step {found.lost - 1}")
    for position, step, passes in re.findall(r"Mask '\w+' at (\d+) after step (\d+) .* in (\d+) more pass", text):
        state = session.at(int(step)).state
        left = {i: t for i, t in enumerate(state.tokens) if state.states[i] == "U" and i != int(position)}
        again = brute.careful(session, left)
        assert checked(again.trace.text) and len(again.steps) == int(passes)
    for passes in re.findall(r"With nothing taken back, .* in (\d+) more pass", text):
        before, after = (brute.kept_by(session, step) for step in (found.lost - 1, found.lost))
        assert len(brute.careful(session, {**before, **after}).steps) == int(passes)
    for size, half in re.findall(r"With (\d+) positions .* with (\d+) it is wrong", text):
        assert int(size) == 2 * int(half) == 2 * len(trace.tokens)
        assert checked(brute.careful(session, {}, longer=2).trace.text)
    for answer in re.findall(r"it writes the same '(.*?)', which", text):
        assert answer == trace.text == brute.careful(session, {}).trace.text
    for count in re.findall(r"None of the (\d+) tokens written", text):
        assert int(count) == sum(state == "U" for state in trace.steps[found.lost - 1].states)
    for setting, value, passes in re.findall(r"(?:by|;) (\w+) = ([\d.]+) \((\d+) pass", text):
        again = dard.decode(session.model, "go", session.decoder, **{**session.settings.as_dict(), setting: value})
        assert checked(again.text) and again.num_steps == int(passes)
    for position in re.findall(r"Nobody made '\w+' at (\d+): step 1", text):
        assert set(trace.start.states) == {"M"} and int(position) in trace.steps[0].decided


def test_by_reference_it_departed_and_nothing_is_wrong() -> None:
    model = los_diego()
    session = dard.Session(model, LOS_DIEGO.replace("coast", "California"), "standard", steps=1)
    session.run()
    found = diagnose(session)
    assert found.judged_by == "reference" and found.kind == "commit" and found.lost == 1
    assert found.sentences[0] == "Departed in step 1: 'Los' at 3 was written."
    way = "careful completion (one token per pass)"
    assert found.sentences[1:4] == [
        f"From the start {way} is the careful answer; after step 1 it is another one.",
        f"With it alone added to what stood before, {way} is another one; step 1 wrote 2 tokens.",
        "Mask 'Los' at 3 after step 1 and go on carefully: the careful answer in 1 more pass.",
    ]
    assert "wrong" not in " ".join(found.sentences)
    same = dard.Session(model, LOS_DIEGO.replace("coast", "California"), "standard", steps=2)
    same.run()
    assert diagnose(same).sentences == ["The answer agrees with careful decoding (one token per pass)."]


def test_what_is_written_in_sudokus_is_counted() -> None:
    model, item = dard.load_model("embedded"), TASKS["sudoku-open"].test_items(8, seed=5)[4]
    session = dard.Session(model, item.prompt, "standard", gen_length=16, steps=4)
    session.run()
    found = tokens_found(session)
    assert found.solutions == solutions_left(session.trace) and found.solutions[-1] == 0
    assert (
        f"Before step {found.lost} {found.solutions[found.lost - 1]} solutions remained, after it none."
        in found.sentences
    )


def test_the_panel_names_by_letter_what_is_to_be_masked_where_others_are_blamed_too() -> None:
    session = dard.Session(los_diego(), LOS_DIEGO, "standard", steps=1)
    session.run()
    found = diagnose(session, expected="San Diego")
    assert panel(session.trace, found).who == "Mask it: right in 1 more pass."
    found.alone.append(4)
    assert panel(session.trace, found).who == "Mask a: right in 1 more pass."
    either = panel(session.trace, diagnose(session, expected="/San D|s An/"))
    assert (either.who, either.hold) == ("Mask either one: right in 1 more pass.", "Mask a and go on")
    made = crowd(5)
    told = diagnose(made.run(), expected="/^a/")
    assert panel(made.run().trace, told).hold == "Mask all 5 and go on"
    told.alone.append(0)  # one more who lost it alone
    assert panel(made.run().trace, told).hold == "Mask all of the first 5 and go on"
    told.guilty = [[1, 2]]
    assert panel(made.run().trace, told).who.startswith("Mask a and b: right in ")


# The causes of a guilty token's own verdict.


def test_causes_tell_what_a_token_would_have_been_had_it_seen_the_others_of_its_pass() -> None:
    session = dard.Session(dard.load_model("embedded"), LOS_DIEGO, "standard", steps=1)
    session.run()
    *_, verdict = dard.examine(session, 1, 3)
    (sibling,) = verdict.siblings
    other = session.at(0).edit(4, token="Diego", state="U").step().paths["x"].at(3)
    assert (sibling.position, sibling.shown, verdict.together) == (4, True, None)
    assert sibling.token == other[0][0] != verdict.token and verdict.turned_by(sibling)
    assert sibling.without == pytest.approx(dict(other).get(verdict.token, 0.0), abs=1e-3)
    assert sibling.state == verdict.state == "U"
    said = diagnose(session).sentences
    assert any(
        "Had it seen 'Diego' at 4, of the same pass, 'Los' would have had 0.000 and 'San' would" in s for s in said
    )


def test_siblings_are_shown_alone_and_all_together_under_a_mask_too() -> None:
    item = TASKS["sudoku-open"].test_items(8, seed=5)[2]
    session = dard.Session(dard.load_model("embedded"), item.prompt, "dard", gen_length=16, tau_c=0.4, tau_u=0.5)
    first = session.step()
    position, *others = first.decided
    *_, verdict = dard.examine(session, 1, position)
    assert sorted(cause.position for cause in verdict.siblings) == others[:16] and verdict.together is not None
    for shown, seen in [([cause.position], cause) for cause in verdict.siblings[:3]] + [(others, verdict.together)]:
        branch = session.at(0)
        for i in shown:
            branch = branch.edit(i, token=first.tokens[i], state="U")
        told = dict(branch.step().paths["x"].at(position))
        if verdict.token in told:
            assert seen.without == pytest.approx(told[verdict.token], abs=2e-4)


def test_what_each_path_gave_a_guilty_token_is_told_beside_the_threshold_that_it_passed() -> None:
    session = dard.Session(los_diego(), LOS_DIEGO, "dard", tau_c=0.3, tau_u=0.5)
    session.run()
    found = diagnose(session)
    table = session.trace.steps[0].paths
    assert found.lost == 1 and len(found.verdicts) == 2
    for verdict in found.verdicts:
        values = [f"{dict(table[path].at(verdict.position))[verdict.token]:.2f}" for path in ("x", "s", "mix")]
        told = "passed τ_u = 0.5 by its mix: x path {}, s path {} and mix {}.".format(*values)
        assert any(told in sentence for sentence in found.sentences)
    (verdict, *_), trace = found.verdicts, session.trace
    verdict.actual, verdict.paths = 0.82, {"x": 0.42, "s": 0.48, "mix": 0.82}
    assert any("τ_u = 0.5 by its mix alone: x path 0.42" in each for each in diagnosis_sentences(trace, found))


# Its record.


def ended(kind: str = "conflict") -> tuple[Trace, dard.Session]:
    made = kinds()[kind][0]
    session = made.run()
    trace = session.trace
    trace.diagnosis = diagnose(session, expected=made.expected)
    return trace, session


def test_a_diagnosis_is_kept_in_the_file() -> None:
    trace, _ = ended()
    again = Trace.from_bytes(trace.to_bytes())
    assert again.diagnosis == trace.diagnosis and again.to_bytes() == trace.to_bytes()
    body = body_of(trace)
    del body["diagnosis"]
    assert Trace.from_bytes(json.dumps(body).encode()).diagnosis is None  # as version 0.2 writes it


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("winnable", [True]), ("lost", 2), ("lost", None), ("guilty", [[0], []]), ("guilty", [[99], [1]]),
        ("kind", "bad"),
        ("rescued", [1]), ("written", {}), ("written", {"0": 1, "1": 7}), ("together", [0, 0]), ("alone", [9]),
        ("solutions", [1]), ("tried", [{"setting": "steps"}]), ("careful", 3), ("mine", 1), ("sentences", ["x" * 5000]),
    ],
)  # fmt: skip
def test_a_diagnosis_that_does_not_fit_its_trace_is_refused(part: str, value: Any) -> None:
    body = body_of(ended()[0])
    body["diagnosis"][part] = value
    with pytest.raises(TraceError, match="diagnosis"):
        Trace.from_bytes(json.dumps(body).encode())


def test_a_trace_and_its_model_are_diagnosed_as_the_session() -> None:
    session = dard.Session(los_diego(), LOS_DIEGO, "standard", steps=1)
    session.run()
    of_session, of_trace = diagnose(session), diagnose(session.trace, los_diego())
    of_session.seconds = of_trace.seconds = 0
    assert of_session == of_trace and not of_trace.recording


def test_a_recording_has_no_decoder_to_ask() -> None:
    session = dard.Session(los_diego(), LOS_DIEGO, "standard", steps=1)
    session.run()
    frames = [session.at(number).state.tokens for number in (0, 1)]
    model = los_diego()
    trace = Trace.from_tokens(frames, 0, {token: model.token_text(token) for token in range(model.vocab_size)})
    found = diagnose(trace, model, expected="/San Diego|Los Angeles/")
    assert found.recording and found.kind == "conflict" and found.guilty and not found.verdicts and not found.tried
    assert found.sentences[-1] == "This is a recording: there is no decoder to ask for causes or for other settings."


def test_whoever_stops_keeps_what_is_known() -> None:
    made = kinds()["conflict"][0]
    seen: list[Diagnosis] = []
    found = diagnose(made.run(), expected=made.expected, on_progress=lambda now: seen.append(now) or len(seen) == 3)
    assert found is seen[-1] and len(seen) == 3 and found.stage != "done" and found.passes >= seen[0].passes
    at_once = diagnose(made.run(), expected=made.expected, on_progress=lambda now: True)
    (said,) = at_once.sentences  # nothing is known, and that is said
    tried, states, passes = map(int, re.findall(r"\d+", said))
    assert (tried, states) == (sum(mark is not None for mark in at_once.winnable), len(at_once.winnable))
    assert passes == at_once.passes and "the search was stopped while it looked for which states" in said


def test_a_recording_without_words_is_told_in_the_models() -> None:
    session = dard.Session(los_diego(), LOS_DIEGO, "standard", steps=1)
    session.run()
    trace = Trace.from_tokens([session.at(number).state.tokens for number in (0, 1)], 0, {})
    found = diagnose(trace, los_diego(), expected="/San Diego|Los Angeles/")
    assert found.sentences[0].startswith("Lost in step 1: 'Los' at 0 and 'Diego' at 1 were written")


# Its cost.


class Sharp:
    """256 words that the model is sure of, whatever it sees."""

    name, vocab_size, num_layers, max_length, mask_id, eos_id = "sharp", 300, 1, 1024, 0, None
    device, offers = torch.device("cpu"), frozenset({"batch"})
    ids = {"bad": 1}

    def encode(self, prompt: str) -> list[int]:
        return [2]

    def decode(self, ids: Any) -> str:
        return " ".join(map(str, ids))

    def token_text(self, token: int) -> str:
        return str(token)

    def answer(self, questions: Any) -> list[dard.models.Answer]:
        return [dard.models.Answer(self.logits(q.ids, q.positions, q.mask, q.rows)) for q in questions]

    def logits(self, ids: Any, positions: Any, mask: Any, rows: Any) -> torch.Tensor:
        logits = torch.zeros(len(rows), self.vocab_size)
        logits[torch.arange(len(rows)), 3 + positions[rows] % 256] = 12.0
        return logits


@pytest.mark.parametrize("slip", [2, 30, 59])
def test_sixty_steps_over_256_positions_take_few_completions(slip: int) -> None:
    model: Any = Sharp()
    model.ids = {str(token): token for token in range(300)}
    moves: list[dict[int, str | None]] = [{} for _ in range(60)]
    for i in range(256):
        moves[i * 60 // 256][i] = str(3 + (i + 1) % 256)
    first = min(moves[slip - 1])
    moves[slip - 1][first] = "2"
    session = dard.Session(model, "go", played(moves), gen_length=256, record=False)
    session.run()
    known = None
    expected = model.decode([3 + (i + 1) % 256 for i in range(256)])
    for found in diagnosing(session, expected=lambda text: text == expected):
        if found.stage == "tokens" and known is None:
            known = found.completions
    assert found.careful == SURE_ONES != ONE_BY_ONE
    assert found.lost == slip and found.guilty == [[first]] and found.kind == "commit"
    assert known is not None and known <= 12 and found.completions <= 60


# Revocations.


def test_a_revocation_is_right_wrong_or_in_vain() -> None:
    words = "a b c bad"
    moves: list[dict[int, str | None]] = [{0: "bad"}, {0: None}, {0: "a", 1: "b"}, {1: None}, {1: "b", 2: "c"}]
    session = case(fill("a b c"), words, played(moves), 3, "").run()
    told = [(each.step, each.position, each.worth) for each in revocations(session, expected="a b c")]
    assert told == [(2, 0, "right"), (4, 1, "in vain")]
    good: list[dict[int, str | None]] = [{0: "a"}, {0: None}, {0: "bad", 1: "b"}, {2: "c"}]
    assert [
        each.worth for each in revocations(case(fill("a b c"), words, played(good), 3, "").run(), expected="a b c")
    ] == ["wrong"]
    lost: list[dict[int, str | None]] = [{0: "bad", 1: "bad"}, {1: None}, {1: "b", 2: "c"}]
    assert [
        each.worth for each in revocations(case(fill("a b c"), words, played(lost), 3, "").run(), expected="a b c")
    ] == ["in vain"]


# Many samples.


def interrupted(*_: Any) -> None:
    raise KeyboardInterrupt


def test_the_failures_of_a_folder_are_diagnosed_and_gone_on_with(tmp_path: Path, capsys: Any, monkeypatch: Any) -> None:
    folder = str(evaluation(tmp_path / "run"))
    assert main(["failures", folder, "--diagnose"]) == 0
    said = capsys.readouterr().out
    kept = (tmp_path / "run" / FILE).read_text()
    assert "lost by" in said and re.search(r"Lost by \w+: 1\.\n", said) and len(kept.splitlines()) == 2
    (tmp_path / "run" / FILE).write_text(kept + '\n{"sample": "half')
    monkeypatch.setattr("dard.results.diagnoses.diagnosed", lambda *_: pytest.fail("made twice"))
    assert main(["failures", folder, "--diagnose", "--json"]) == 0
    (row,) = map(json.loads, capsys.readouterr().out.splitlines())
    assert row["diagnosis"] == json.loads(kept.splitlines()[1])["diagnosis"] and row["diagnosis"]["kind"]
    (tmp_path / "run" / FILE).unlink()
    monkeypatch.setattr("dard.cli.failures.Diagnoses.make", interrupted)
    assert main(["failures", folder, "--diagnose"]) == 0
    said = capsys.readouterr().out
    assert "\nNot diagnosed: 1.\n" in said and "Lost by" not in said


def test_the_command_tells_it_and_keeps_it_in_the_file(tmp_path: Path, capsys: Any) -> None:
    words = ["diagnose", LOS_DIEGO, "--decoder", "standard", "--steps", "1"]
    assert main([*words, "--trace", str(tmp_path / "a.json")]) == 0
    said = " ".join(capsys.readouterr().out.split())
    kept = Trace.load(tmp_path / "a.json").diagnosis
    assert kept is not None and kept.kind == "conflict" and "Kind: conflict." in said and kept.sentences[0] in said
    assert main(["diagnose", str(tmp_path / "a.json"), "--json", "--expected", "Los Angeles"]) == 0
    again = json.loads(capsys.readouterr().out)
    assert again["judged_by"] == "expected" and again["lost"] == 1
    for bad in (["--expected", "/(/"], ["--decoder", "none"]):
        assert main([*words, *bad]) == 2 and "dard: " in capsys.readouterr().err


# Bad input.


def test_bad_input_ends_with_one_sentence() -> None:
    model = los_diego()
    session = dard.Session(model, LOS_DIEGO, "standard", steps=1)
    with pytest.raises(dard.InputError, match="has not ended: 2 positions"):
        diagnose(session)
    session.run()
    for expected, said in {
        "/(/": "is no pattern", r"/(.*)(.*)(.*)(.*)(.*)(.*)\1\2\3\4\5\6[!?]/": "takes longer than",
        "/((a{65535}){65535}){65535}/": "repeats too much", "": "1 to 1000",
        "x" * 2000: "1 to 1000", 3: "must be a text", (lambda text: 1 / 0): "failed on an answer",
    }.items():  # fmt: skip
        with pytest.raises(dard.InputError, match=said) as caught:
            diagnose(session, expected=expected)  # type: ignore[arg-type]
        assert "\n" not in str(caught.value) and len(str(caught.value)) < 400
    with pytest.raises(dard.InputError, match=r"dard.diagnose\(trace, model\)"):
        diagnose(session.trace)
    with pytest.raises(dard.InputError, match="of its own"):
        diagnose(session, los_diego())
    with pytest.raises(dard.InputError, match="another model"):
        diagnose(session.trace, dard.load_model("embedded"))
    with pytest.raises(dard.InputError, match="can be diagnosed"):
        diagnose("a text")  # type: ignore[arg-type]
    with pytest.raises(dard.InputError, match="model is a int, which has no name"):
        diagnose(session.trace, 3)  # type: ignore[arg-type]
    by_hand = session.at(0).edit(3, token="Los", state="U").edit(4, token="Diego", state="U")
    with pytest.raises(dard.InputError, match="has no steps: everything in it was put there by hand"):
        diagnose(by_hand)


class Guessing(DECODERS["threshold"].__class__):  # type: ignore[misc, name-defined]
    """A stranger's: it names no neighbourhood of its own."""

    name, title = "guessing", "Guessing"


def test_a_strangers_decoder_is_diagnosed_and_its_neighbourhood_is_that_of_its_settings() -> None:
    item = TASKS["places"].test_items(8, seed=3)
    model = dard.load_model("embedded")
    runs = [dard.Session(model, each.prompt, Guessing(), threshold=0.2) for each in item]
    for session in runs:
        session.run()
    wrong = next(s for s in runs if judge(s.prompt, s.trace.text) is False)
    found = diagnose(wrong)
    assert found.kind in ("conflict", "commit") and not found.recording and found.verdicts
    tried = {attempt.setting: [] for attempt in found.tried}
    for attempt in found.tried:
        tried[attempt.setting].append(attempt.value)
    assert "threshold" in tried and all(0 <= value <= 1 for value in tried["threshold"])
    assert {point["threshold"] for point in Guessing.grid} - {0.2} <= set(tried["threshold"])
    assert len(found.tried) <= 200


def test_careful_completion_takes_nothing_from_the_runs_cache_and_noise() -> None:
    """It is the same whatever the run was made with."""
    item = TASKS["places"].test_items(8, seed=3)[1]
    model = dard.load_model("embedded")
    plain, other = (
        dard.Session(model, item.prompt, "standard", steps=1, **more)
        for more in ({}, {"prefix_cache": "block", "temperature": 0.0001, "seed": 3})
    )
    told = []
    for session in (plain, other):
        session.run()
        assert session.trace.text == plain.trace.text
        found = tokens_found(session, lambda text: False)
        told.append((found.winnable, found.reference, found.completions, found.passes, found.rows))
    assert told[0] == told[1]


def test_every_decoder_names_its_neighbourhood() -> None:
    for decoder in DECODERS.values():
        settings = decoder.Settings(gen_length=16)
        changes = decoder.neighbours(settings)
        assert all(name in decoder.Settings.allowed() for change in changes for name in change)
        assert all(getattr(settings, name) != value for change in changes for name, value in change.items())
    standard = DECODERS["standard"]
    steps = standard.neighbours(standard.Settings(gen_length=16, steps=4))
    assert steps == [{"steps": number} for number in range(5, 17)]
    names = {name for change in DECODERS["dard"].neighbours(DECODERS["dard"].Settings()) for name in change}
    assert names == {"tau_u", "tau_c", "p0", "lambda_", "cycle"}
