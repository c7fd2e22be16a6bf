"""Masks and reach: the table of §2.1 cell by cell, the invariant, and what a real network makes of them."""

from __future__ import annotations

import itertools

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

import dard
from dard.analysis.reach import contaminated, reach, reach_depth, with_outside
from dard.checkup.literal.shadows import dard_sees_x
from dard.decoders.masks import dard_mask, ordering_values, wino_mask
from tests.tiny import VOCABULARY, random_model

LETTERS = "MCU"
CONFIDENCES = st.sampled_from([0.0, 0.3, 0.5, 0.5000001, 0.7, 1.0])  # few values, so that ties are common
BLOCKS = st.lists(st.tuples(st.sampled_from(LETTERS), CONFIDENCES), min_size=1, max_size=9)
Block = list[tuple[str, float]]


def mask_of(block: Block) -> Tensor:
    return dard_mask("".join(letter for letter, _ in block), [c for _, c in block])


@given(BLOCKS)
def test_every_query_sees_exactly_one_of_token_and_shadow(block: Block) -> None:
    mask, length = mask_of(block), len(block)
    assert mask.dtype == torch.bool and mask.shape == (2 * length, 2 * length)
    for q in range(2 * length):
        for j in range(length):
            assert int(mask[q, j]) + int(mask[q, length + j]) == 1


@given(BLOCKS)
def test_the_mask_is_the_table_cell_by_cell(block: Block) -> None:
    mask, length = mask_of(block), len(block)
    for path, offset in (("x", 0), ("s", length)):
        for i, j in itertools.product(range(length), repeat=2):
            expected = dard_sees_x(path, i, block[i][0], block[i][1], j, block[j][0], block[j][1], "confidence")
            assert bool(mask[offset + i, j]) == expected, (path, i, j)


@pytest.mark.parametrize("ordering", ["l2r", "bidirectional"])
@given(letters=st.text(alphabet=LETTERS, min_size=1, max_size=9))
def test_the_orderings_that_need_no_model(ordering: str, letters: str) -> None:
    length = len(letters)
    values = ordering_values(ordering, length)
    assert values is not None
    mask = dard_mask(letters, values)
    for path, offset in (("x", 0), ("s", length)):
        for i, j in itertools.product(range(length), repeat=2):
            assert bool(mask[offset + i, j]) == dard_sees_x(path, i, letters[i], 0, j, letters[j], 0, ordering)


def test_the_orderings_that_look_at_the_model_have_no_values_of_their_own() -> None:
    assert all(ordering_values(name, 4) is None for name in ("confidence", "entropy", "margin"))


@given(BLOCKS)
def test_no_shadow_sees_its_own_token(block: Block) -> None:
    length = len(block)
    for mask in (mask_of(block), wino_mask(length)):
        assert not any(mask[length + i, i] for i in range(length))
        assert all(mask[length + i, length + i] for i in range(length))


@given(st.integers(1, 9))
def test_wino_hides_the_shadow_from_x_and_its_own_token_from_each_shadow(length: int) -> None:
    mask = wino_mask(length)
    for q, k in itertools.product(range(2 * length), repeat=2):
        if q < length:
            expected = k < length
        else:
            expected = k >= length or k != q - length
        assert bool(mask[q, k]) == expected


@pytest.mark.parametrize(
    ("states", "values"),
    [("MCX", [0, 0, 0]), ("mcu", [0, 0, 0]), ("MC", [0.5]), ("M", []), ("", [0.1]), ("M U", [0] * 3)],
)
def test_a_wrong_letter_or_length_is_refused(states: str, values: list[float]) -> None:
    with pytest.raises(ValueError):
        dard_mask(states, values)


# Reach.

SQUARES = st.integers(1, 7).flatmap(
    lambda n: st.lists(st.lists(st.booleans(), min_size=n, max_size=n), min_size=n, max_size=n)
)


def arrives(mask: Tensor, query: int, key: int, layers: int) -> bool:
    """Whether a walk of at most `layers` looks leads from the query to the key."""
    here = {query}
    for _ in range(layers):
        here |= {k for q in here for k, seen in enumerate(mask[q].tolist()) if seen}
    return key in here


@settings(deadline=None, max_examples=60)
@given(SQUARES, st.integers(1, 4))
def test_reach_is_what_a_search_for_walks_finds(rows: list[list[bool]], layers: int) -> None:
    mask = torch.tensor(rows)
    found = reach(mask, layers)
    for q, k in itertools.product(range(len(rows)), repeat=2):
        assert bool(found[q, k]) == arrives(mask, q, k, layers)


@given(SQUARES, st.integers(1, 20))
def test_reach_grows_with_depth_and_depth_is_the_first_layer_of_arrival(rows: list[list[bool]], layers: int) -> None:
    mask = torch.tensor(rows)
    less, more = reach(mask, layers), reach(mask, layers + 1)
    assert bool((more | ~less).all())
    depth = torch.from_numpy(reach_depth(mask.numpy(), layers + 1))
    assert torch.equal((depth > 0) & (depth <= layers), less)


def test_reach_refuses_what_is_not_a_square_boolean_mask_or_a_depth() -> None:
    for mask in (torch.ones(2, 3).bool(), torch.ones(2, 2), torch.ones(4).bool()):
        with pytest.raises(ValueError):
            reach(mask, 2)
    for layers in (0, -1, 256):
        with pytest.raises(ValueError):
            reach(torch.ones(2, 2).bool(), layers)


def test_one_node_stands_for_all_outside_positions() -> None:
    """Reach with the one node equals reach with three separate ones that see the same."""
    for seed in range(20):
        generator = torch.Generator().manual_seed(seed)
        mask = torch.rand(6, 6, generator=generator) < 0.3
        keys = torch.rand(6, generator=generator) < 0.3
        full = torch.ones(9, 9, dtype=torch.bool)
        full[:6, :6] = mask
        full[6:, :6] = keys
        for layers in (1, 2, 3):
            one_node = torch.from_numpy(with_outside(mask.numpy(), keys.numpy()))
            assert torch.equal(reach(one_node, layers)[:6, :6], reach(full, layers)[:6, :6])


# Contamination.


@pytest.mark.parametrize("outside", ["reliable", "all"])
def test_contamination_is_a_hidden_candidate_that_arrives_all_the_same(outside: str) -> None:
    total = 0
    for seed, prompt in ((0, [5, 6]), (1, [0, 4, 0, 0, 0, 8, 0]), (3, [0] * 6)):
        trace = dard.decode(
            random_model(seed, 3), prompt, gen_length=6, tau_c=0.3, tau_u=0.6, outside=outside, commit_after=6
        )
        for step in trace.steps:
            if step.mask is None:
                assert contaminated(step) == []
                continue
            start, end = step.block
            length = end - start
            away = len(trace.prompt_tokens) + len(step.tokens) - length
            full = torch.ones(2 * length + away, 2 * length + away, dtype=torch.bool)
            full[: 2 * length, : 2 * length] = torch.tensor(step.mask)
            for j in range(length):
                x = outside == "all" or step.states_before[start + j] == "U"
                full[2 * length :, j], full[2 * length :, length + j] = x, not x
            for layers in (1, 2, 3):
                expected = [
                    (start + i, start + j, next(n for n in range(1, layers + 1) if arrives(full, length + i, j, n)))
                    for i, j in itertools.product(range(length), repeat=2)
                    if step.states_before[start + i] in "CU"
                    and not step.fixed[start + i]
                    and step.states_before[start + j] == "C"
                    and not full[length + i, j]
                    and arrives(full, length + i, j, layers)
                ]
                assert [tuple(found) for found in contaminated(step, layers)] == expected
                if layers == 1:
                    assert not expected
            total += len(contaminated(step))
            assert contaminated(step) == contaminated(step, step.num_layers)
    assert total > 0


# What a real network does.


def random_case(seed: int, length: int = 6) -> tuple[str, Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    states = "".join(LETTERS[k] for k in torch.randint(0, 3, (length,), generator=generator).tolist())
    confidence = torch.rand(length, generator=generator)
    words = torch.randint(3, VOCABULARY, (length,), generator=generator)
    words[[i for i, s in enumerate(states) if s == "M"]] = 0
    ids = torch.cat([words, torch.zeros(length, dtype=torch.long)])
    positions = torch.arange(length).repeat(2)
    return states, dard_mask(states, confidence), ids, positions


def test_in_one_layer_a_token_never_changes_what_its_own_shadow_says() -> None:
    model = random_model(1, 1)
    for seed in range(10):
        _, mask, ids, positions = random_case(seed)
        for i in range(6):
            row = torch.tensor([6 + i])
            before = model.logits(ids, positions, mask, row)
            for token in (3, 17, 39):
                other = ids.clone()
                other[i] = token
                torch.testing.assert_close(model.logits(other, positions, mask, row), before, atol=1e-5, rtol=0)


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_a_token_outside_the_reach_of_a_row_never_changes_its_logits(layers: int) -> None:
    model = random_model(2, layers)
    unreached, felt = 0, 0
    for seed in range(12):
        _, mask, ids, positions = random_case(seed)
        closure = reach(mask, layers)
        rows = torch.arange(12)
        before = model.logits(ids, positions, mask, rows)
        for key in range(6):
            other = ids.clone()
            other[key] = 3 if ids[key] != 3 else 4
            change = (model.logits(other, positions, mask, rows) - before).abs().amax(dim=-1)
            assert not (change[~closure[:, key]] > 1e-5).any()
            unreached += int((~closure[:, key]).sum())
            felt += int((change > 1e-3).sum())
    assert unreached > 0 and felt > 0


def test_a_candidate_reaches_a_verifier_through_depth_in_a_real_network() -> None:
    """The "≈" of the paper: U verifies without C's token, but from layer two on it hears of it through s_C."""
    mask = dard_mask("UCC", [0.9, 0.6, 0.7])
    ids, positions = torch.tensor([5, 6, 7, 0, 0, 0]), torch.arange(3).repeat(2)
    changed = torch.tensor([5, 6, 30, 0, 0, 0])
    row = torch.tensor([3])
    assert not mask[3, 2]
    for layers, hears in ((1, False), (2, True)):
        model = random_model(0, layers)
        change = (model.logits(changed, positions, mask, row) - model.logits(ids, positions, mask, row)).abs().max()
        assert bool(change > 1e-4) == hears == bool(reach(mask, layers)[3, 2])


def test_the_mask_in_the_trace_is_the_one_the_table_gives() -> None:
    trace = dard.decode(random_model(3), [4, 5], gen_length=7, block_length=4, tau_c=0.3, tau_u=0.6)
    for step in trace.steps:
        if step.mask is None:
            continue
        a, b = step.block
        expected = dard_mask(step.states_before[a:b], step.confidence_before[a:b])
        assert torch.equal(torch.tensor(step.mask), expected)
        for i in range(a, b):
            assert step.visible(i, "s") == [a + j for j in range(b - a) if expected[b - a + i - a, j]]
            assert step.visible(i, "x") == [a + j for j in range(b - a) if expected[i - a, j]]
