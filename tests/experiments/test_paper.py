"""Every table and quantitative figure of the paper has a command that runs here, or a sentence on what it needs."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

import dard
from dard.cli.main import build_parser, main
from dard.experiments import EXPERIMENTS, make_plan
from dard.experiments.paper import PAPER, PICTURES

LABELS = """
attention_mask_ablation adaptive_logit_mixing gen_block_length candidate_transition_example adaptive_weight_distribution
ordering_alignment accuracy_steps_llada accuracy_steps_mmada tau_ablation tps_performance_llada tps_performance_mmada
latency_memory experiment_llm experiment_lvlm experiment_llada1_15 gen_length_ablation fine_grained_multimodal_benchmark
"""
COMMANDS = list(dict.fromkeys(place.command for place in PAPER.values() if place.command))


def test_the_list_names_every_picture_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "--list"]) == 0
    said = capsys.readouterr().out
    assert all(label in said for label in (*PAPER, *PICTURES)) and len(PICTURES) == 10


def test_nothing_of_the_paper_is_missing() -> None:
    assert set(PAPER) == set(LABELS.split())
    for label, place in PAPER.items():
        assert place.command or "need" in place.needs, label
        assert "\n" not in place.needs and place.needs.count(". ") == 0  # one sentence


@pytest.mark.parametrize("command", COMMANDS)
def test_its_command_is_understood_and_can_be_run_on_the_embedded_model(command: str) -> None:
    args = build_parser().parse_args(shlex.split(command))
    if args.command == "experiment":
        plan = make_plan(args.name, dard.load_model("embedded"), args.task, 1)
        assert plan.results.total and plan.experiment is EXPERIMENTS[args.name]
    else:
        trace = dard.decode(dard.load_model("embedded"), args.prompt)
        assert any(step.promoted or step.demoted for step in trace.steps)  # candidates in transition


@pytest.mark.long
@pytest.mark.parametrize("command", COMMANDS)
def test_its_command_runs_to_its_end(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    small = ["--samples", "1", "--out", str(tmp_path)] if command.startswith("experiment") else []
    assert main([*shlex.split(command), *small]) == 0
    assert capsys.readouterr().out
