"""The plug-in of SGLang on an algorithm as SGLang's are; on SGLang's own classes: tests/contact/test_sglang.py."""

from __future__ import annotations

import logging
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from dard.recording.sglang import Keeper, plugin
from dard.trace.readers import load
from tests.test_recording import states_of

MASK, SIZE, VOCABULARY = 0, 4, 9


class Algorithm:
    """The surest mask first, one for each row; the loop of the base is written out."""

    def __init__(self, mask_id: int = MASK) -> None:
        self.mask_id, self.block_size, self.threshold = mask_id, SIZE, 0.9

    def run(self, model_runner: Any, forward_batch: Any) -> None:
        while bool((forward_batch.input_ids == self.mask_id).any()):
            self.step(forward_batch, model_runner(forward_batch), [None] * forward_batch.batch_size)

    def step(self, forward_batch: Any, full_logits: torch.Tensor, states: list[Any]) -> list[bool]:
        rows = forward_batch.input_ids.view(-1, SIZE)
        p, token = full_logits.view(len(rows), SIZE, VOCABULARY).softmax(-1).max(-1)
        best = p.masked_fill(rows != self.mask_id, -1).argmax(-1)
        for row, place in enumerate(best.tolist()):
            if rows[row, place] == self.mask_id:
                rows[row, place] = token[row, place]
        return [False] * len(rows)


def batch(rows: list[list[int]], begins: list[int], names: list[str] | None) -> SimpleNamespace:
    positions = torch.tensor([[begin + i for i in range(SIZE)] for begin in begins])
    ids = torch.tensor(rows).flatten()
    return SimpleNamespace(batch_size=len(rows), input_ids=ids, positions=positions.flatten(), rids=names)


def runner(forward_batch: Any) -> torch.Tensor:
    logits = torch.randn(len(forward_batch.input_ids), VOCABULARY, generator=torch.Generator().manual_seed(1))
    logits[:, MASK] = -9
    return logits


def test_every_request_gets_a_file_that_dard_view_opens(tmp_path: Path) -> None:
    algorithm = Algorithm()
    Keeper(tmp_path / "traces").watch(None, algorithm)
    algorithm.run(runner, batch([[5, 6, 7, 8], [0, 0, 0, 0]], [0, 0], ["a/b", "c"]))  # one prompt, one answer
    for begin, first in ((4, [3, 0, 0, 0]), (8, [0, 0, 0, 0])):
        last = batch([first], [begin], ["a/b"])
        algorithm.run(runner, last)
    assert sorted(file.name for file in (tmp_path / "traces").iterdir()) == ["a_b.jsonl", "c.jsonl"]
    [trace] = load(tmp_path / "traces" / "a_b.jsonl")
    assert trace.prompt_tokens == [5, 6, 7, 8, 3] and trace.tokens[-4:] == last.input_ids.tolist()
    assert trace.finished and trace.num_steps == 7 and trace.settings["threshold"] == 0.9
    assert [step.block for step in trace.steps] == [(0, 3)] * 3 + [(3, 7)] * 4
    sure = runner(last).softmax(-1).max(-1).values
    for step in trace.steps[3:]:
        assert [step.confidence[i] for i in range(3, 7)] == pytest.approx(sure.tolist(), abs=1e-5)
    assert states_of(load(tmp_path / "traces" / "c.jsonl")[0])[0] == [0, 0, 0, 0]


def test_a_prompt_of_which_a_part_was_cached_is_left_out(tmp_path: Path) -> None:
    algorithm = Algorithm()
    Keeper(tmp_path).watch(None, algorithm)
    algorithm.run(runner, batch([[5, 6, 7, 8]], [4], ["a"]))
    algorithm.run(runner, batch([[0, 0, 0, 0]], [8], ["a"]))
    [trace] = load(tmp_path / "a.jsonl")
    assert trace.prompt_tokens == [] and len(trace.tokens) == 4


def test_no_error_reaches_the_engine(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("")
    watched, alone = Algorithm(), Algorithm()
    Keeper(tmp_path / "file").watch(None, watched)
    batches = [batch([[5, 0, 0, 0]], [0], None) for _ in range(2)]
    with caplog.at_level(logging.ERROR):
        for algorithm, each in zip((watched, alone), batches, strict=True):
            algorithm.run(runner, each)
    assert torch.equal(batches[0].input_ids, batches[1].input_ids)
    assert [record.message for record in caplog.records] == ["dard: a step could not be kept; nothing more is"]


def test_an_algorithm_without_a_mask_is_left_alone(tmp_path: Path) -> None:
    algorithm = Algorithm(-1)
    Keeper(tmp_path).watch(None, algorithm)
    assert vars(algorithm).keys() == {"mask_id", "block_size", "threshold"}


def test_nothing_happens_unless_a_folder_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DARD_TRACES", raising=False)
    plugin()  # SGLang is not installed here, and not looked for
