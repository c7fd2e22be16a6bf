"""Block-causal models: no block sees a later one, whoever asks; and what is before a block can be kept, exactly.

In the reference there is no later block at all: the sequence ends with the block that is decoded.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import dard
from dard.analysis.reach import block_depth
from dard.core.prompt import initial_state
from dard.decoding.loop import ask
from dard.decoding.session import Session
from dard.models.base import as_trained
from tests.helpers import ALL_DECODERS, without_times
from tests.models.families import SHIFTED, load_family
from tests.models.test_families import asked
from tests.models.test_prefix_cache import passes_of

BLOCK = 4


@pytest.fixture(scope="module", params=["sdar", "fast_dllm", "llada2"])
def family(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Any, Any]:
    said = {"attention": f"block:{BLOCK}"} if request.param == "llada2" else {}  # whose own are of 32
    return load_family(request.param, tmp_path_factory.mktemp("family"), layers=3, **said)


def literal(network: Any, ids: list[int], shifted: bool) -> torch.Tensor:
    """Logits [S, vocab] of a sequence in which every position sees its block and those before."""
    size = len(ids)
    mask = torch.tensor([[key // BLOCK <= query // BLOCK for key in range(size)] for query in range(size)])
    with torch.no_grad():
        logits = network(
            input_ids=torch.tensor(ids)[None], position_ids=torch.arange(size)[None], attention_mask=mask[None, None]
        ).logits[0]
    return torch.cat([logits[:1], logits[:-1]]) if shifted else logits


def greedy(network: Any, prompt: list[int], length: int, mask_id: int, shifted: bool) -> list[int]:
    """One token per pass, the surest of the block first; the sequence ends with the block."""
    ids = list(prompt)
    while len(ids) < len(prompt) + length:
        end = min((len(ids) // BLOCK + 1) * BLOCK, len(prompt) + length)
        ids += [mask_id] * (end - len(ids))
        while mask_id in ids:
            probability = literal(network, ids, shifted).double().softmax(-1)
            probability[:, mask_id] = 0
            sure = [float(probability[i].max()) if token == mask_id else -1.0 for i, token in enumerate(ids)]
            best = max(range(len(ids)), key=lambda i: (sure[i], -i))
            ids[best] = int(probability[best].argmax())
    return ids[len(prompt) :]


@pytest.mark.parametrize("prompt", [[5, 6, 7, 8], [5, 6, 7, 8, 9], [5, 6, 7], [9]])
@pytest.mark.parametrize("cache", ["off", "block"])
def test_decoding_is_that_of_a_sequence_that_ends_with_its_block(
    prompt: list[int], cache: str, family: tuple[str, Any, Any]
) -> None:
    """Blocks are counted from the first token of the prompt."""
    name, model, network = family
    trace = dard.decode(model, prompt, "standard", gen_length=10, prefix_cache=cache)
    assert trace.tokens == greedy(network, prompt, 10, model.mask_id, name in SHIFTED)
    starts = sorted({step.block[0] for step in trace.steps})
    assert all((len(prompt) + start) % BLOCK == 0 for start in starts[1:]) and starts[0] == 0


@pytest.mark.parametrize("decoder", ALL_DECODERS)
def test_the_cache_is_exact(decoder: str, family: tuple[str, Any, Any]) -> None:
    """Tokens and every recorded number are equal with and without; later passes go over the rest only."""
    _, model, _ = family
    traces, least = {}, {}
    for cache in ("off", "block"):
        with passes_of(model) as sizes:
            traces[cache] = dard.decode(model, [5, 6, 7, 8, 9, 10], decoder, gen_length=12, prefix_cache=cache)
        least[cache] = min(sizes)
    assert least["off"] >= (18 if traces["off"].about.later else 8)  # one decoder's passes end with their block
    if decoder != "saber":  # which looks at all blocks again; the last one has two positions, shadows and readers
        assert least["block"] <= 8
    assert traces["off"].tokens == traces["block"].tokens
    for one, other in zip(traces["off"].steps, traces["block"].steps, strict=True):
        np.testing.assert_allclose(one.confidence, other.confidence, atol=1e-4)


def test_an_edit_before_the_block_is_not_answered_from_what_was_kept(family: tuple[str, Any, Any]) -> None:
    _, model, _ = family
    session = Session(model, [5, 6, 7, 8], "standard", gen_length=8, prefix_cache="block")
    while session.state.block < 1:
        session.step()
    session.step()
    edited = session.edit(1, token=77, state="U")
    plain = edited.at(len(edited.steps))
    plain.settings = replace(plain.settings, prefix_cache="off")
    assert edited.run().tokens == plain.run().tokens


def test_nothing_of_a_later_block_reaches_a_row(family: tuple[str, Any, Any]) -> None:
    """Whatever the mask that is asked for, through all layers."""
    _, model, _ = family
    q = replace(asked(model, 3, 14), rows=torch.arange(14))
    before = model.logits(q.ids, q.positions, q.mask, q.rows)
    for row in range(14):
        later = q.positions // BLOCK > q.positions[row] // BLOCK
        other = torch.where(later, (q.ids + 1) % model.vocab_size, q.ids)
        again = model.logits(other, q.positions, q.mask, q.rows)
        torch.testing.assert_close(again[row], before[row], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("decoder", ["dard", "wino"])
def test_the_recorded_mask_is_the_decoder_s_under_the_model_s_pattern(
    decoder: str, family: tuple[str, Any, Any]
) -> None:
    _, model, _ = family
    session = Session(model, [5, 6, 7, 8, 9], decoder, gen_length=11)
    while not session.finished:
        state = session.state
        wanted = session.decoder.ask(model, session.settings, state)
        used = ask(session.decoder, model, session.settings, state)
        at = wanted.positions // BLOCK
        assert torch.equal(used.mask, wanted.mask & (at[None, :] <= at[:, None]))
        assert torch.equal(as_trained(model, used).mask, used.mask)
        step = session.step()
        if step.mask is None:
            continue
        size, block = 16, range(*step.block)
        inside = [5 + i for i in block] + [size + i - block.start for i in block]
        np.testing.assert_array_equal(step.mask, used.mask[inside][:, inside].numpy())
        rows = [r for r in range(size) if r not in inside and used.mask[inside, r].any()]
        assert rows == list(range(5 + block.start)), "a block sees all that is before it and nothing after it"
        np.testing.assert_array_equal(step.outside_keys, used.mask[rows][:, inside].any(dim=0).numpy())
        if block.start:  # only tokens of the same block could carry something back, and there is none of the prompt
            assert not step.outside_keys.any()
    assert session.trace.block_size == BLOCK
    again = dard.Trace.from_bytes(session.trace.to_bytes())
    assert again.block_size == BLOCK and without_times(again) == without_times(session.trace)


def test_reach_is_what_gets_through_the_layers(family: tuple[str, Any, Any]) -> None:
    """Against the whole sequence, of which the record keeps the block and one node for what is outside."""
    _, model, _ = family
    session = Session(model, [5, 6, 7, 8, 9], "dard", gen_length=11, tau_c=0.0, tau_u=0.02)
    while not session.finished and len(session.steps) < 6:
        state = session.state
        mask = ask(session.decoder, model, session.settings, state).mask
        step = session.step()
        if step.mask is None:
            break
        inside = [5 + i for i in range(*step.block)] + list(range(16, len(mask)))
        step_by_step = mask | torch.eye(len(mask), dtype=torch.bool)
        reached = step_by_step
        for _ in range(model.num_layers - 1):
            reached = (reached.float() @ step_by_step.float()) > 0
        depth = block_depth(step)
        assert depth is not None
        np.testing.assert_array_equal(depth > 0, reached[inside][:, inside].numpy())


def test_another_block_length_is_refused(family: tuple[str, Any, Any]) -> None:
    name, model, _ = family
    with pytest.raises(dard.InputError) as caught:
        dard.decode(model, [5, 6], block_length=8)
    assert str(caught.value) == (
        f"block_length = 8 is not allowed; model {name!r} was trained on blocks of 4 tokens, of which none sees a "
        "later one: block_length must be 4 (or nothing)"
    )
    assert dard.decode(model, [5, 6], "standard", gen_length=4, block_length=4).finished


def test_a_template_has_blocks_too(family: tuple[str, Any, Any]) -> None:
    _, model, _ = family
    state = initial_state(model, [5, 6, 7, 8, 9, model.mask_id, 10, model.mask_id, model.mask_id], 0, None)
    assert (state.prompt_overlap, state.block, list(state.block_range)) == (0, 1, [4, 5, 6, 7])
    for decoder in ALL_DECODERS:
        assert dard.decode(model, [5, model.mask_id, 7, 8, 9, 10, model.mask_id], decoder).finished


def test_a_foreign_model_may_have_blocks() -> None:
    from tests.models.test_interface import Letters

    class Blocky(Letters):
        block_size = 2

        def pattern(self, positions: torch.Tensor) -> torch.Tensor:
            return positions[None, :] // 2 <= positions[:, None] // 2

    trace = dard.decode(Blocky(), "a [MASK] [MASK] [MASK] e", "dard", tau_c=0.3, tau_u=0.5)
    assert trace.finished and trace.block_size == 2 and trace.steps[0].block == (0, 2)


def test_the_payload_tells_the_browser(family: tuple[str, Any, Any]) -> None:
    from visual.payload import header

    _, model, _ = family
    head = header(dard.decode(model, [5, 6, 7, 8, 9], gen_length=11))
    assert (head["block_size"], len(head["prompt_tokens"])) == (4, 5)


def test_what_the_files_say(tmp_path: Path) -> None:
    for name in ("sdar", "fast_dllm"):
        _, model, _ = load_family(name, tmp_path)
        assert (model.block_size, model.shifted) == (4, name == "fast_dllm")
        assert model.token_text(model.mask_id) in ("<|MASK|>", "|<MASK>|") and model.chat
        assert model.token_text(model.eos_id) == "<|im_end|>"
