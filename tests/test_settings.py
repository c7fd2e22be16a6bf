"""Bad input is refused with one sentence that names the field, the value and what is allowed."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dard
from dard.core.prompt import initial_state, split_template
from dard.decoders import DECODERS, make_settings
from dard.models.scripted import LOS_DIEGO, los_diego
from tests.helpers import ALL_DECODERS
from tests.tiny import random_model


def test_an_input_error_is_a_value_error() -> None:
    assert issubclass(dard.InputError, ValueError)


@pytest.mark.parametrize(
    ("decoder", "field", "value", "allowed"),
    [
        ("dard", "tau_c", -0.1, "at least 0 and at most 1"),
        ("dard", "tau_c", 1.1, "at least 0 and at most 1"),
        ("dard", "tau_u", 2, "at least 0 and at most 1"),
        ("dard", "tau_u", -1, "at least 0 and at most 1"),
        ("dard", "tau_u", math.nan, "at least 0 and at most 1"),
        ("dard", "tau_u", "high", "at least 0 and at most 1"),
        ("dard", "tau_u", None, "at least 0 and at most 1"),
        ("dard", "tau_u", True, "at least 0 and at most 1"),
        ("dard", "lambda_", 0, "above 0 and below 1"),
        ("dard", "lambda_", 1, "above 0 and below 1"),
        ("dard", "lambda_", -0.5, "above 0 and below 1"),
        ("dard", "lambda_", 1.5, "above 0 and below 1"),
        ("dard", "p0", 0, "above 0"),
        ("dard", "p0", -1, "above 0"),
        ("dard", "p0", math.inf, "above 0"),
        ("dard", "ordering", "random", "'confidence' or 'entropy' or 'margin' or 'l2r' or 'bidirectional'"),
        ("dard", "ordering", None, "'confidence'"),
        ("dard", "mixing", 1.5, "'adaptive' or a number at least 0 and at most 1"),
        ("dard", "mixing", "fixed", "'adaptive' or a number"),
        ("dard", "verify", "both", "'held' or 'argmax'"),
        ("dard", "outside", "none", "'reliable' or 'all'"),
        ("dard", "commit_after", 0, "at least 1"),
        ("dard", "commit_after", 2.5, "a whole number"),
        ("dard", "block_length", 0, "a whole number at least 1"),
        ("dard", "block_length", -4, "a whole number at least 1"),
        ("dard", "block_length", 10**30, "at most 8192"),
        ("dard", "gen_length", -1, "a whole number at least 0"),
        ("dard", "gen_length", 1.5, "a whole number"),
        ("dard", "gen_length", [3], "a whole number"),
        ("dard", "temperature", -1, "at least 0 and at most 10"),
        ("dard", "seed", -1, "at least 0"),
        ("dard", "seed", 2**31, "at most"),
        ("wino", "threshold", 1.2, "at least 0 and at most 1"),
        ("wino", "threshold_back", -0.2, "at least 0 and at most 1"),
        ("saber", "n", 0, "at least 1"),
        ("saber", "mu", 0, "at least 1"),
        ("standard", "steps", 0, "at least 1"),
        ("threshold", "threshold", 7, "at least 0 and at most 1"),
        ("threshold", "factor", 0, "above 0"),
        ("entropy_bound", "gamma", -0.1, "at least 0"),
        ("entropy_bound", "order", "best", "'confidence' or 'entropy' or 'margin'"),
        ("dapd", "variant", "both", "'staged' or 'direct'"),
        ("dapd", "layer_ratio", 0, "above 0 and at most 1"),
        ("dapd", "tau_max", 1.1, "at most 1"),
        ("remix", "js_threshold", -0.1, "at least 0"),
        ("remix", "beta_mix", 1.5, "at most 1"),
        ("edit", "edit_threshold", 2, "at most 1"),
        ("edit", "steps", 0, "at least 1"),
        ("edit", "max_post_steps", -1, "at least 0"),
    ],
)
def test_a_value_outside_its_range(decoder: str, field: str, value: Any, allowed: str) -> None:
    with pytest.raises(dard.InputError) as caught:
        dard.decode(los_diego(), LOS_DIEGO, decoder, **{field: value})
    sentence = str(caught.value)
    assert field in sentence and repr(value)[:20] in sentence and allowed in sentence, sentence
    assert "\n" not in sentence and len(sentence) < 250


def test_tau_c_above_tau_u_names_both() -> None:
    for values in ({"tau_c": 0.9, "tau_u": 0.5}, {"tau_c": 0.9}, {"tau_u": 0.5}):
        with pytest.raises(dard.InputError, match=r"tau_c = 0\.\d is above tau_u = 0\.\d; tau_c must be at most tau_u"):
            dard.decode(los_diego(), LOS_DIEGO, **values)
    dard.decode(los_diego(), LOS_DIEGO, tau_c=0.5, tau_u=0.5)


def test_a_setting_the_decoder_does_not_have() -> None:
    with pytest.raises(dard.InputError, match=r"'tau_c' is not a setting here; there are gen_length, .*threshold_back"):
        dard.decode(los_diego(), LOS_DIEGO, "wino", tau_c=0.5)


@pytest.mark.parametrize("name", ["best", "", None, 5, "DARD", ["dard"], "x" * 10_000])
def test_an_unknown_decoder(name: Any) -> None:
    with pytest.raises(dard.InputError, match=r"unknown decoder .* allowed are dard, wino, saber, standard") as caught:
        dard.decode(los_diego(), LOS_DIEGO, name)
    assert len(str(caught.value)) < 200


def test_an_unknown_model(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("nonsense", "no such model", "a/b/c", "https://example.org/x", "\0", "x" * 5000):
        with pytest.raises(
            dard.InputError, match=r"unknown model .* allowed are embedded, llada-8b-instruct"
        ) as caught:
            dard.load_model(name)
        assert len(str(caught.value)) < 800  # the models, not what was asked for

    def no_network(*_: Any, **__: Any) -> None:
        raise OSError("no network\nand more")

    monkeypatch.setattr("huggingface_hub.snapshot_download", no_network)
    with pytest.raises(dard.InputError, match=r"model 'owner/name' could not be fetched from the hub: no network$"):
        dard.load_model("owner/name")


# Prompts.


@pytest.mark.parametrize("prompt", ["", "   ", "\n\t ", []])
def test_an_empty_prompt(prompt: Any) -> None:
    for decoder in ALL_DECODERS:
        with pytest.raises(dard.InputError, match=r"prompt is empty; write some text, or a template with \[MASK\]s"):
            dard.decode(random_model(1), prompt, decoder)


@pytest.mark.parametrize("prompt", [None, 5, 1.5, ["a"], [1.5], [None], {"a": 1}, [[3]]])
def test_a_prompt_of_another_kind(prompt: Any) -> None:
    with pytest.raises(dard.InputError, match="prompt"):
        dard.decode(los_diego(), prompt)


@pytest.mark.parametrize("token", [-1, 16, 10**20])
def test_a_prompt_with_an_id_outside_the_vocabulary(token: int) -> None:
    with pytest.raises(dard.InputError, match=rf"token id {token}; this model's ids go from 0 to 15"):
        dard.decode(los_diego(), [3, token])


def test_a_prompt_longer_than_the_model() -> None:
    with pytest.raises(dard.InputError, match=r"prompt of 600 tokens .* region of 32 make 632 tokens; .* at most 512"):
        dard.decode(los_diego(), "The city of " * 200)
    with pytest.raises(dard.InputError, match=r"region of 513 make 513 tokens; this model takes at most 512"):
        dard.decode(los_diego(), "[MASK] " * 513)
    with pytest.raises(dard.InputError, match="prompt is 100001 characters long; at most 100000 are allowed"):
        dard.decode(los_diego(), "x" * 100_001)


def test_the_longest_prompt_still_works() -> None:
    trace = dard.decode(random_model(0), [5] * 508, gen_length=4, decoder="standard", steps=1)
    assert len(trace.tokens) == 4


def test_a_template_whose_masks_are_all_filled() -> None:
    with pytest.raises(
        dard.InputError, match=r"no \[MASK\] left to fill and gen_length is 0; .* gen_length to 1 or more"
    ):
        dard.decode(los_diego(), "The city of San Diego is on the Southern California coast .", gen_length=0)


def test_words_the_model_does_not_know() -> None:
    with pytest.raises(dard.InputError, match="Paris"):
        dard.decode(los_diego(), "The city of Paris")


def test_the_words_proposed_for_one_are_the_same_in_any_order_of_the_vocabulary(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A tokenizer of today gives its words in another order in every process."""
    model: Any = dard.load_model("embedded")
    vocabulary, said = model.tokenizer.get_vocab(), set()
    for words in (sorted(vocabulary), sorted(vocabulary, reverse=True)):
        monkeypatch.setattr(
            model.tokenizer, "get_vocab", lambda words=words: {each: vocabulary[each] for each in words}
        )
        with pytest.raises(dard.InputError, match=r"'he' \(close: He, the, She\)$") as caught:
            dard.decode(model, "he city of [MASK]")
        said.add(str(caught.value))
    assert len(said) == 1


def test_a_template_is_its_own_region_and_a_prompt_is_continued() -> None:
    state = initial_state(los_diego(), LOS_DIEGO, gen_length=5, block_length=None)
    assert state.prompt == () and len(state.tokens) == 12 and state.states == "UUUMMUUUUUUU"
    assert state.fixed == tuple(letter == "U" for letter in state.states)
    state = initial_state(los_diego(), "The city of", gen_length=5, block_length=99)
    assert len(state.prompt) == 3 and state.states == "MMMMM" and state.block_length == 5


@pytest.mark.parametrize(
    ("prompt", "pieces"),
    [
        ("[MASK]", ["", ""]),
        ("[MASK][MASK]", ["", "", ""]),
        ("a [MASK] b", ["a", " b"]),
        ("a[MASK]b", ["a", "b"]),
        ("a  [MASK]", ["a ", ""]),
    ],
)
def test_where_a_template_is_cut(prompt: str, pieces: list[str]) -> None:
    assert split_template(prompt) == pieces


# Anything at all.

ANYTHING = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**12), 10**12),
    st.floats(),
    st.text(max_size=12),
    st.sampled_from(["adaptive", "confidence", "held", "all", "0.5", "1e3", "nan", "inf", " 3 "]),
    st.lists(st.integers(), max_size=2),
    st.binary(max_size=4),
)
FIELDS = [(decoder, field) for decoder in ALL_DECODERS for field in DECODERS[decoder].Settings.allowed()]


@settings(max_examples=400, deadline=None)
@given(where=st.sampled_from(FIELDS), value=ANYTHING)
def test_nothing_outside_its_range_is_ever_accepted(where: tuple[str, str], value: Any) -> None:
    decoder, field = where
    allowed = DECODERS[decoder].Settings.allowed()[field]
    other = {"tau_c": {"tau_u": 1}, "tau_u": {"tau_c": 0}}.get(field, {})
    try:
        kept = getattr(make_settings(decoder, {field: value} | other), field)
    except dard.InputError as error:
        assert field in str(error) and "\n" not in str(error)
        return
    assert not isinstance(value, bool | list | bytes)
    if kept is None:
        assert allowed.optional
    elif isinstance(kept, str):
        assert kept in allowed.choices
    else:
        assert type(kept) is allowed.kind and math.isfinite(kept)
        assert allowed.low is None or (kept > allowed.low if allowed.open_low else kept >= allowed.low)
        assert allowed.high is None or (kept < allowed.high if allowed.open_high else kept <= allowed.high)
        assert float(kept) == float(value)


def test_settings_cannot_be_changed() -> None:
    values = make_settings("dard", {})
    with pytest.raises(AttributeError):
        values.tau_c = 0.1  # type: ignore[attr-defined]


def test_a_model_brings_its_own_defaults_and_the_caller_overrides_them() -> None:
    class Mild:
        defaults = {"tau_c": 0.4, "tau_u": 0.9, "threshold": 0.3, "nonsense": 1}

    assert make_settings("dard", {"tau_u": 0.7}, Mild()).as_dict()["tau_c"] == 0.4
    assert make_settings("dard", {"tau_u": 0.7}, Mild()).as_dict()["tau_u"] == 0.7
    assert make_settings("wino", {}, Mild()).as_dict()["threshold"] == 0.3
