"""Every transition has one plain, true sentence with the rule, the numbers and the tokens in view."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from typing import Any

import pytest

import dard
from dard.decoders import get_decoder
from dard.models.scripted import LOS_DIEGO, ScriptedModel, los_diego
from dard.trace.words import Words, against, explain, summary, words_of
from tests.decoders.follow import template, words
from tests.helpers import ALL_DECODERS
from tests.tiny import random_model, scripted

FOOTBALL = "a man [MASK] on the [MASK] [MASK]"


def football_field() -> ScriptedModel:
    """The paper's appendix: two wrong words hold each other up until the context without them speaks."""

    def rule(position: int, visible: Mapping[int, str]) -> Mapping[str, float]:
        talking = visible.get(2) == "talking"
        if position == 2:
            return {"talking": 0.95}
        if position == 5:
            if visible.get(6) == "field":
                return {"football": 0.9}
            return {"cell": 0.45, "football": 0.1} if talking else {"football": 0.55}
        if talking:
            return {"phone": 0.6} if visible.get(5) == "football" else {"field": 0.31, "phone": 0.25}
        return {"field": 0.62}

    return scripted(["a", "man", "on", "the", "talking", "football", "field", "cell", "phone"], rule)


# The appendix.


@pytest.mark.parametrize("verify", ["held", "argmax"])
def test_football_field_goes_as_in_the_appendix_and_says_so(verify: str) -> None:
    session = dard.Session(football_field(), FOOTBALL, tau_c=0.5, tau_u=0.8, verify=verify)
    seven, eight, nine = session.step(), session.step(), session.step()
    assert seven.states[5:] == "CC" and seven.confidence[6] > seven.confidence[5]
    assert (eight.promoted, eight.demoted) == ([5], [6])
    assert 5 in nine.demoted
    judged = "the shadow gives it" if verify == "held" else "its best guess 'field' had confidence"
    assert eight.why[6] == (
        f"'field' at 6 was revoked: seen without 'football' at 5 (less confident), {judged} 0.31, not above τ_c = 0.50."
    )
    assert eight.why[5].startswith("'football' at 5 was promoted: seen with 'field' at 6 (more confident), ")
    assert "0.90, above τ_u = 0.80" in eight.why[5]
    assert nine.why[5].startswith("'football' at 5 was revoked: seen with unmasked tokens only, ")
    assert "not above τ_c = 0.50" in nine.why[5]


def test_los_diego_is_told_word_by_word() -> None:
    trace = dard.decode(los_diego(), LOS_DIEGO, tau_c=0.4, tau_u=0.8)
    first, second = trace.steps[0], trace.steps[1]
    assert first.why[3] == (
        "'Los' at 3 became a candidate: no candidate was in view, "
        "it has 0.51, above τ_c = 0.40 and not above τ_u = 0.80."
    )
    seen = "seen with 'Diego' at 4 (more confident)"
    assert second.why[3].startswith(f"'Los' at 3 was revoked: {seen}, the shadow gives it 0.0")
    assert "its own best guess is 'San', 0.93" in second.why[3]
    assert summary(first, trace.about, Words(trace.word)) == "Step 1. 'Los' at 3 and 'Diego' at 4 decided."
    assert summary(second, trace.about, Words(trace.word)) == "Step 2. 'Los' at 3 revoked."
    assert "given by the template" in dard.Trace.why(trace, first, 0)


def test_a_number_beside_a_threshold_is_told_apart_from_it() -> None:
    def rule(position: int, visible: Mapping[int, str]) -> Mapping[str, float]:
        if position > 1:  # decided once others stand
            return {"a": 0.6 if visible else 0.3}
        return ({"a": 0.4962, "b": 0.4961}, {"b": 0.5021, "a": 0.4978})[position]

    model = scripted(["a", "b"], rule)
    first = dard.Session(model, "[MASK] [MASK] [MASK] [MASK]", tau_c=0.4, tau_u=0.5).step()
    assert first.why[0].endswith("it has 0.496, above τ_c = 0.400 and not above τ_u = 0.500.")
    assert first.why[1].endswith("it has 0.502, above τ_u = 0.500.")
    wino = dard.Session(model, "[MASK] [MASK] [MASK] [MASK]", "wino", threshold=0.4, threshold_back=0.5)
    assert "the shadow gives it 0.496, below τ2 = 0.500" in [wino.step(), wino.step()][1].why[0]
    edit = dard.Session(model, "[MASK] [MASK] [MASK] [MASK]", "edit", threshold=0.4, edit_threshold=0.5)
    edit.step()
    assert "stays with 0.496" in explain(edit.decoder, edit.step(), 0, Words(edit.trace.word))


# All sentences of many decodes.

CASES: list[tuple[str, dict[str, Any]]] = [
    ("dard", {"tau_c": 0.3, "tau_u": 0.6}),
    ("dard", {"tau_c": 0.3, "tau_u": 0.6, "verify": "argmax", "outside": "all"}),
    ("dard", {"tau_c": 0.3, "tau_u": 0.6, "ordering": "entropy"}),
    ("dard", {"tau_c": 0.3, "tau_u": 0.6, "ordering": "margin", "mixing": 0.5}),
    ("dard", {"tau_c": 0.3, "tau_u": 0.6, "ordering": "l2r", "mixing": 0}),
    ("dard", {"tau_c": 0.3, "tau_u": 0.6, "ordering": "bidirectional", "mixing": 1}),
    ("dard", {"tau_c": 0.6, "tau_u": 0.9, "commit_after": 4}),
    ("dard", {"tau_c": 0.3, "tau_u": 0.6, "cycle": "reopen"}),
    ("dard", {"tau_c": 0.3, "tau_u": 0.6, "cycle": "reopen", "verify": "argmax", "commit_after": 3}),
    ("wino", {"threshold": 0.3, "threshold_back": 0.9}),
    ("wino", {"threshold": 0.9, "threshold_back": 0.9}),
    ("saber", {"n": 2}),
    ("saber", {"n": 6}),
    ("standard", {"steps": 3}),
    ("standard", {}),
    ("threshold", {"threshold": 0.5}),
    ("threshold", {"factor": 1.0}),
    ("entropy_bound", {"gamma": 1.0}),
    ("dapd", {"tau_max": 0.6}),
    ("dapd", {"variant": "direct", "tau_min": 0.2, "tau_max": 0.2}),
    ("remix", {"threshold": 0.6}),
    ("remix", {"threshold": 0.9, "js_threshold": 0.4}),
    ("edit", {"threshold": 0.5, "edit_threshold": 0.3}),
    ("edit", {"steps": 2, "max_post_steps": 1}),
]


@cache
def traces(decoder: str) -> list[dard.Trace]:
    found = []
    for name, values in CASES:
        if name == decoder:
            for seed in range(3):
                model = random_model(seed, sharpness=1.3)
                found.append(dard.decode(model, words(seed, 3), name, gen_length=10, block_length=7, **values))
                found.append(dard.decode(model, template(seed, "w__w____w_"), name, **values))
    return found


@pytest.mark.parametrize("decoder", ALL_DECODERS)
def test_every_position_that_changed_has_a_sentence_in_the_trace(decoder: str) -> None:
    for trace in traces(decoder):
        for step in trace.steps:
            before = zip(step.states_before, step.tokens_before, strict=True)
            now = zip(step.states, step.tokens, strict=True)
            for i, (old, new) in enumerate(zip(before, now, strict=True)):
                if old != new:
                    assert i in step.why, (decoder, step.index, i)


@pytest.mark.parametrize("decoder", ALL_DECODERS)
def test_every_sentence_is_one_short_line_with_its_confidence(decoder: str) -> None:
    for trace in traces(decoder):
        for step in trace.steps:
            for i in range(len(step.tokens)):
                sentence = dard.Trace.why(trace, step, i)
                assert sentence.endswith(".") and "\n" not in sentence and len(sentence) <= 300, sentence
                assert sentence[0] == "'" or sentence[0].isupper()
                assert "nan" not in sentence and "None" not in sentence and "{" not in sentence, sentence
                if i in step.why:
                    assert re.search(rf"{step.confidence[i]:.2f}"[:3], sentence), (sentence, step.confidence[i])


@pytest.mark.parametrize("decoder", ALL_DECODERS)
def test_every_sentence_says_where(decoder: str) -> None:
    """The token it is about, and every other that it names as seen or in the way, with its position."""
    for trace in traces(decoder):
        for step in trace.steps:
            for i in range(len(step.tokens)):
                sentence = dard.Trace.why(trace, step, i)
                assert re.match(rf"'\S+' at {i}\b|Position {i}\b", sentence), sentence
                for clause in re.findall(r"(?:seen with|without|seeing|it depends on) ('w\d+'.{0,3})", sentence):
                    assert clause.endswith(" at"), sentence


SUDOKU = "Sudoku : 2 0 0 0 0 1 0 0 0 0 0 0 0 0 0 2 Solution :"


@pytest.mark.parametrize("decoder", ALL_DECODERS)
def test_on_a_board_sentences_name_row_and_column(decoder: str) -> None:
    session = dard.Session(dard.load_model("embedded"), SUDOKU, decoder, gen_length=18)
    trace = dard.Trace.from_bytes(session.run().to_bytes())
    for step in trace.steps:
        for i in range(len(step.tokens)):
            where = f"row {i // 4 + 1}, column {i % 4 + 1}" if i < 16 else rf"(?:at|Position) {i}"
            sentence = trace.why(step, i)
            assert re.match(rf"(?:'\S+' (?:in )?)?{where}\b", sentence, re.I), sentence
            assert i in step.why or explain(get_decoder(decoder), step, i, words_of(trace)) == sentence
        told = summary(step, trace.about, words_of(trace))
        assert all(re.match(r" in row \d, column \d| at 1[67]", after) for after in re.split(r"'\S+'", told)[1:]), told


@pytest.mark.parametrize("decoder", ALL_DECODERS)
def test_a_sentence_written_later_from_the_file_is_the_same(decoder: str) -> None:
    for trace in traces(decoder)[:2]:
        again = dard.Trace.from_bytes(trace.to_bytes())
        for step in again.steps:
            for i, sentence in step.why.items():
                assert explain(get_decoder(again.decoder), step, i, Words(again.word)) == sentence


KINDS: dict[str, list[str]] = {
    "dard": [
        r"^'w\d+' at \d+ became a candidate: .*, it has 0\.\d+, above τ_c = 0\.\d+ and not above τ_u = 0\.\d+\.$",
        r"^'w\d+' at \d+ was unmasked at once: .*, above τ_u = ",
        r"^'w\d+' at \d+ was promoted: seen .*, above τ_u = ",
        r"^'w\d+' at \d+ was weakened to a candidate: seen .*, not above τ_u = ",
        r"^'w\d+' at \d+ was revoked: seen .*, not above τ_c = ",
        r"^'w\d+' at \d+ was replaced by 'w\d+': seen .*, above τ_[cu] = ",
        r"^'w\d+' at \d+ stays a candidate: seen .*, not above τ_u = ",
        r"^'w\d+' at \d+ stays unmasked: seen .*, above τ_u = ",
        r"^Position \d+ stays masked: .*, not above τ_c = ",
        r"^'w\d+' at \d+ entered as a candidate although .*, not above τ_c = .* no masked position passed",
        r"^'w\d+' at \d+ was accepted as it stood: seen .*, but decoding began to repeat itself\.$",
        r"^'w\d+' at \d+ was committed as the surest masked position .* filled one by one\.$",
        r"^'w\d+' at \d+ was committed as the surest masked position .* no other was above τ_u\.$",
        r"^'w\d+' at \d+ was committed: 0\.\d+, above τ_u = 0\.60; the block had stopped moving",
        r"^'w\d+' at \d+ was revoked, although seen .*, above τ_c = .*: decoding repeats itself or reached",
        r"^Position \d+ stays masked, although .*, above τ_c = .*: decoding repeats itself or reached",
        r"^'w\d+' at \d+ is given by the template",
        r"^Position \d+ belongs to a later block",
        r"^Position \d+ belongs to an earlier block",
        r"seen with 'w\d+'.* \(more confident\) and without 'w\d+'.* \(less confident\)",
        r"\(of lower entropy\)",
        r"\(of smaller margin\)",
        r"\(to its left\)",
        r"\(all candidates see each other\)",
        r"\(only candidates\)",
        r"seeing 'w\d+' at \d+.* the x path said 'w\d+' 0\.\d\d, "
        r"without candidates the s path said 'w\d+' 0\.\d\d; mixed with w = ",
    ],
    "wino": [
        r"^'w\d+' at \d+ was accepted: 0\.\d+, above τ1 = 0\.30\.$",
        r"^'w\d+' at \d+ was accepted although 0\.\d+, not above τ1 = 0\.90: no position passed",
        r"^'w\d+' at \d+ was revoked: .* the shadow gives it 0\.\d\d.*, below τ2 = 0\.90\.$",
        r"^'w\d+' at \d+ stays unmasked although .*, below τ2 = 0\.90: a step that accepts a single "
        r"token revokes none\.$",
        r"^'w\d+' at \d+ stays unmasked: .*, not below τ2 = 0\.90\.$",
        r"^Position \d+ stays masked: its best guess has 0\.\d+, not above τ1 = 0\.\d+\.$",
    ],
    "saber": [
        r"^'w\d+' at \d+ was committed: 0\.\d+, above the mean commit confidence = 0\.\d+\.$",
        r"^'w\d+' at \d+ was committed as one of the \d surest: 0\.\d+, not above the mean commit "
        r"confidence = \d\.\d+\.$",
        r"^'w\d+' at \d+ was revoked: its confidence changed by [+-]0\.\d\d to 0\.\d\d, among the lowest changes\.$",
        r"^'w\d+' at \d+ stays unmasked: its confidence changed by ",
        r"^Position \d+ stays masked: its best guess has ",
    ],
    "standard": [
        r"^'w\d+' at \d+ was committed as the surest of this pass, with confidence 0\.\d\d\.$",
        r"^'w\d+' at \d+ was committed as one of the \d surest of this pass, with confidence 0\.\d\d, "
        r"without seeing the (\d other tokens|other token) of the same pass\.$",
        r"^'w\d+' at \d+ is committed; this decoder never takes a token back\.$",
        r"^Position \d+ stays masked: its best guess 'w\d+' 0\.\d\d was not among the surest of this pass\.$",
    ],
    "threshold": [
        r"^'w\d+' at \d+ was committed: 0\.\d+, above τ = 0\.50",
        r"^'w\d+' at \d+ was committed although 0\.\d+, not above τ = 0\.50: no position passed\.$",
        r"^'w\d+' at \d+ was committed .*with confidence 0\.\d\d.* f = 1",
    ],
    "dapd": [
        r"^'w\d+' at \d+ was committed: number 1 of \d+ in the order \(degree 0\.\d\d, confidence "
        r"0\.\d\d\), so nothing",
        r"^'w\d+' at \d+ was committed: it depends on nothing accepted before it by more than τ = "
        r"0\.\d\d; number \d+ of \d+",
        r"^'w\d+' at \d+ was let through with confidence 0\.9\d: what is sure to at least 0\.9 need not wait",
        r"^Position \d+ had to wait: 'w\d+' has 0\.\d\d, but it depends on 'w\d+' at \d+, accepted before it, "
        r"by D = \d\.\d+, above τ = 0\.\d+; number \d+ of \d+ in the order",
        r"^'w\d+' at \d+ is committed; this decoder never takes a token back\.$",
    ],
    "remix": [
        r"^'w\d+' at \d+ was committed: 0\.\d+, above τ = 0\.60\.$",
        r"^'w\d+' at \d+ was committed although it has 0\.\d+, not above τ = 0\.\d+: no position passed",
        r"^Position \d+ stays masked: 'w\d+' has 0\.\d+, not above τ .*\. It is compared with the next pass",
        r"Its mix was rejected: JS to the pass before is 0\.\d+, above the JS threshold = 0\.30.* so do all later",
        r"Its mix was rejected: JS .*, above the JS threshold = 0\.40\. The next pass sees a plain mask\.$",
        r"Its mix stays rejected: with nothing to compare it with, JS is 0\.35, above the JS threshold = 0\.30\.$",
        r"JS to the pass before is 0\.\d+, not above .*: it goes on made of 'w\d+' and 'w\d+' and mask, \d+% words\.$",
    ],
    "edit": [
        r"^'w\d+' at \d+ was committed: 0\.\d+, above τ = 0\.50\.$",
        r"^'w\d+' at \d+ was committed as the surest of this pass: 0\.\d+, not above τ = 0\.50\.$",
        r"^'w\d+' at \d+ was committed as one of the 16 surest of this pass: 0\.\d+, ",
        r"^'(w\d+)' at \d+ was replaced by '(w\d+)': the model gives '\2' 0\.\d+, above τ_e = "
        r"0\.30, and '\1' 0\.\d\d\. ",
        r"^'w\d+' at \d+ stays with 0\.\d\d \(its own best guess is 'w\d+', 0\.\d\d\): no other token is above τ_e",
        r"^Position \d+ stays masked: its best guess has 0\.\d+, not above τ = 0\.50\.$",
    ],
    "entropy_bound": [r"^'w\d+' at \d+ was committed with confidence 0\.\d\d.* γ = 1"],
}


@pytest.mark.parametrize("decoder", ALL_DECODERS)
def test_each_kind_of_transition_has_its_own_words(decoder: str) -> None:
    sentences = {dard.Trace.why(t, s, i) for t in traces(decoder) for s in t.steps for i in range(len(s.tokens))}
    for pattern in KINDS[decoder]:
        assert any(re.search(pattern, sentence) for sentence in sentences), pattern


# Truth.


def test_the_tokens_named_as_seen_or_hidden_are_those_the_mask_shows_or_hides() -> None:
    checked = 0
    for trace in traces("dard"):
        if trace.settings["ordering"] != "confidence":
            continue
        for step in trace.steps:
            if step.mask is None:
                continue
            a, b = step.block
            states, c = step.states_before, step.confidence_before
            for i in range(a, b):
                if states[i] != "C":
                    continue
                others = [j for j in range(a, b) if states[j] == "C" and j != i]
                seen, hidden = [j for j in others if c[j] >= c[i]], [j for j in others if c[j] < c[i]]
                sentence = dard.Trace.why(trace, step, i)
                for group, clause in ((seen, "with "), (hidden, "without ")):
                    named = [f"'{trace.word(step.tokens_before[j])}'" for j in group[:3]]
                    position = 0
                    for word in named:
                        position = sentence.find(word, position)
                        assert position >= 0, (sentence, clause, named)
                    more = len(group) - 3
                    assert more <= 0 or f"and {more} more" in sentence
                if not others:
                    assert "seen with unmasked tokens only" in sentence
                checked += 1
    assert checked > 50


@pytest.mark.parametrize(
    ("value", "threshold", "text"),
    [
        (0.31, 0.5, "0.31, not above τ = 0.50"),
        (0.501, 0.5, "0.501, above τ = 0.500"),
        (0.5, 0.5, "0.50, not above τ = 0.50"),
        (0.80004, 0.8, "0.80004, above τ = 0.80000"),
        (0.7999, 0.8, "0.7999, not above τ = 0.8000"),
    ],
)
def test_a_comparison_is_visibly_true(value: float, threshold: float, text: str) -> None:
    assert against(value, threshold, "τ") == text


def test_long_and_blank_tokens_are_cut_and_shown() -> None:
    long, blank = "x" * 90, " \n"

    def rule(position: int, visible: Mapping[int, str]) -> Mapping[str, float]:
        return {long if position == 0 else blank: 0.9}

    model = scripted([long, blank], rule)
    step = dard.Session(model, [0, 0], "standard", steps=1).step()
    assert len(step.why[0]) < 200 and "…" in step.why[0]
    assert r"' \n'" in step.why[1] and "\n" not in step.why[1]


def test_the_summary_of_every_step_is_one_line() -> None:
    for decoder in ALL_DECODERS:
        for trace in traces(decoder):
            for step in trace.steps:
                text = summary(step, trace.about, Words(trace.word))
                assert text.startswith(f"Step {step.index}. ") and "\n" not in text and len(text) < 400
            assert "The block is complete" in summary(trace.steps[-1], trace.about, Words(trace.word))


def test_a_revocation_has_one_name() -> None:
    from dard.core.folders import assets

    told = [decoder.rule for decoder in map(get_decoder, ALL_DECODERS)]
    for path in [*assets("gallery").glob("*.json"), assets("learn") / "lessons.json"]:
        found = json.loads(path.read_text(encoding="utf-8"))
        for page in found if isinstance(found, list) else [found]:
            told += [json.dumps(page[key]) for key in page if key not in ("hook", "shows", "claims", "show")]
    for decoder in map(get_decoder, ALL_DECODERS):
        trace = dard.decode(random_model(3, sharpness=3.0), [*range(5, 9), *[1] * 12], decoder)
        told += [sentence for step in trace.steps for sentence in (*step.notes.values(), *step.why.values())]
    other = re.compile(r"demot|remask|t(ake|akes|aken|ook)\b[^.]{0,20} back|back to masked", re.I)
    assert [text for text in told if other.search(text)] == []
