"""Rows, tails, and what is hidden."""

from __future__ import annotations

import numpy as np
import pytest

from dard.tasks import TASKS, Example
from dard.training.corpus import DRILLS, LONG, LONG_EVERY, STAGES, Corpus, encode_rows, source
from dard.training.vocabulary import EOS_ID, MASK_ID, PAD_ID, SPECIAL, build_tokenizer, word_list


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return Corpus(seed=0, rows_per_source=300)


def test_every_world_and_the_drills_are_trained() -> None:
    for stage in STAGES:
        assert {name for group in stage.groups for name in group.rows} == {*TASKS, *DRILLS}


def test_every_example_fits_into_its_group() -> None:
    for group in (*(group for stage in STAGES for group in stage.groups), LONG):
        for name in group.rows:
            for example in source(name)(np.random.default_rng(5), 500):
                assert len(f"{example.prompt} {example.answer}".split()) <= group.length


def test_an_example_that_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="does not fit"):
        encode_rows([Example("text", "", "The city of Los Angeles")], 4, np.random.default_rng(0))


def test_a_batch_depends_on_the_seed_the_step_and_the_stage_alone(corpus: Corpus) -> None:
    for step, used in ((0, 0.0), (LONG_EVERY - 1, 0.5), (500, 0.9)):
        for one, other in zip(corpus.batches(step, used), Corpus(0, 300).batches(step, used), strict=True):
            assert (one.inputs == other.inputs).all() and (one.targets == other.targets).all()


def test_hidden_words_are_masked_real_and_at_least_one_per_row(corpus: Corpus) -> None:
    for step in range(2 * LONG_EVERY):
        for batch in corpus.batches(step, used=step / (2 * LONG_EVERY)):
            assert (batch.inputs[batch.hidden] == MASK_ID).all()
            assert (batch.inputs[~batch.hidden] == batch.targets[~batch.hidden]).all()
            assert not (batch.hidden & ~batch.real).any()
            assert batch.hidden.any(axis=1).all()
            assert (batch.real == (batch.targets != PAD_ID)).all()


def test_most_questions_hide_only_the_answer_and_tails_vary(corpus: Corpus) -> None:
    colon = word_list().index("A")
    untouched, rows, tails = 0, 0, set()
    for step in range(0, 40):
        if step % LONG_EVERY == LONG_EVERY - 1:
            continue
        stories = list(corpus.batches(step))[1]
        for hidden, target in zip(stories.hidden, stories.targets, strict=True):
            if colon in target:
                rows += 1
                untouched += not hidden[: target.tolist().index(colon)].any()
                tails.add(int((target == EOS_ID).sum()))
    assert 0.8 < untouched / rows < 0.97
    assert len(tails) > 4


def test_an_epoch_shows_every_row_once() -> None:
    count = STAGES[0].groups[0].rows["places"]
    corpus = Corpus(seed=1, rows_per_source=10 * count)
    seen: list[tuple[int, ...]] = []
    for step in range(10):
        seen += [tuple(row) for row in next(iter(corpus.batches(step))).targets[:count].tolist()]
    again = [tuple(row) for row in corpus._rows[STAGES[0].groups[0].length, "places"].ids.tolist()]
    assert sorted(seen) == sorted(again)


def test_the_tokenizer_gives_back_what_the_worlds_write() -> None:
    tokenizer = build_tokenizer()
    assert [tokenizer.token_to_id(word) for word in SPECIAL] == [0, 1, 2, 3]
    for task in TASKS.values():
        for example in task.examples(np.random.default_rng(0), 50):
            text = f"{example.prompt} {example.answer} [EOS]".strip()
            ids = tokenizer.encode(text).ids
            assert tokenizer.decode(ids, skip_special_tokens=False) == text
    assert tokenizer.encode("xylophone").tokens == ["[UNK]"]


def test_later_stages_begin_when_their_share_of_the_budget_is_used(corpus: Corpus) -> None:
    for stage in STAGES:
        for used in (stage.starts, stage.starts + 0.01):
            shapes = [batch.inputs.shape for batch in corpus.batches(0, used)]
            assert shapes == [(sum(group.rows.values()), group.length) for group in stage.groups]
