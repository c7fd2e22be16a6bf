"""The command line, as a user types it: what it prints, what it writes, how it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import dard
from dard.cli import main as command_line
from dard.cli import options
from dard.models.scripted import LOS_DIEGO, los_diego
from tests import tiny


@pytest.fixture(autouse=True)
def scripted(monkeypatch: pytest.MonkeyPatch) -> None:
    """No weights: the command line gets the scripted model unless a test asks for another."""
    real = options.open_model

    def choose(args):
        return los_diego() if args.model == "embedded" else real(args)

    monkeypatch.setattr(options, "open_model", choose)


def test_decode_shows_a_line_per_step_and_the_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert command_line.main(["decode", LOS_DIEGO, "--tau-c", "0.4", "--why"]) == 0
    shown = capsys.readouterr().out
    assert "The city of San Diego is on" in " ".join(shown.split())
    assert "LosC" in shown and "was revoked" in shown and "period 2" in shown


def test_the_former_name_of_a_setting_is_a_flag_that_is_not_advertised(capsys: pytest.CaptureFixture[str]) -> None:
    assert command_line.main(["decode", LOS_DIEGO, "--max-steps", "1", "--json"]) == 0
    assert dard.Trace.from_bytes(capsys.readouterr().out.encode()).settings["commit_after"] == 1
    with pytest.raises(SystemExit):
        command_line.main(["decode", "--help"])
    assert "--commit-after" in (told := capsys.readouterr().out) and "--max-steps" not in told


def test_decode_prints_a_trace_that_loads_again(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "t.json.gz"
    assert command_line.main(["decode", LOS_DIEGO, "--decoder", "wino", "--json", "--trace", str(file)]) == 0
    printed = dard.Trace.from_bytes(capsys.readouterr().out.encode())
    assert printed == dard.Trace.load(file)
    assert printed.decoder == "wino"


def test_compare_shows_every_decoder(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert command_line.main(["compare", LOS_DIEGO, "--set", "standard.steps=1", "--trace", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in ("dard", "wino", "saber", "standard"))
    assert "Los Diego" in dard.Trace.load(tmp_path / "standard.json.gz").text


SUDOKU = "Sudoku : 2 0 0 0 0 1 0 0 0 0 0 0 0 0 0 2 Solution :"


def solver() -> Any:
    """Knows one solution of the puzzle; a position is surer the further left it is."""
    cells = ["2", "3", "4", "1", "4", "1", "2", "3", "1", "2", "3", "4", "3", "4", "1", "2"]
    words, start = [*SUDOKU.split(), *"1234"], len(SUDOKU.split())
    return tiny.scripted(sorted(set(words)), lambda place, _: {cells[place - start]: 0.9 - 0.01 * place})


def test_compare_says_what_is_right_where_a_task_can_tell(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(options, "open_model", lambda args: solver())
    monkeypatch.delenv("COLUMNS", raising=False)
    assert command_line.main(["compare", SUDOKU, "--gen-length", "16", "--decoders", "standard,threshold"]) == 0
    shown = capsys.readouterr().out
    assert "right" in shown and shown.count("✓") == 2 and "✗" not in shown
    assert command_line.main(["compare", SUDOKU, "--gen-length", "15", "--decoders", "standard"]) == 0
    shown = capsys.readouterr().out
    assert "cut off" in shown and "✗" not in shown
    monkeypatch.setattr(options, "open_model", lambda args: tiny.random_model(0))
    assert command_line.main(["compare", "w5 w6", "--decoders", "standard"]) == 0
    assert "right" not in capsys.readouterr().out, "a prompt of no task is not judged"


def test_without_a_terminal_a_table_is_wide_enough(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setattr(options, "open_model", lambda args: solver())
    assert command_line.main(["compare", SUDOKU, "--gen-length", "16"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert sum("2 3 4 1 4 1 2 3 1 2 3 4 3 4 1 2" in line for line in lines) == 4 and len(lines) <= 10
    monkeypatch.setenv("COLUMNS", "60")  # whoever says how wide is heard
    assert command_line.main(["compare", SUDOKU, "--gen-length", "16"]) == 0
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 60


def test_a_long_decode_is_told_in_brief_unless_every_step_is_asked_for(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(options, "open_model", lambda args: tiny.random_model(0))
    command = ["decode", "w5 w6", "--decoder", "standard", "--gen-length", "128", "--steps", "32"]
    assert command_line.main(command) == 0
    brief = capsys.readouterr().out
    assert len(brief.splitlines()) < 20
    assert "128 positions, 4.00 tokens a pass, 0 revoked; -v shows every step" in brief
    assert "32 forward passes, ended by all unmasked" in brief
    assert command_line.main([*command, "-v"]) == 0
    assert capsys.readouterr().out.count("·") > 1000
    assert command_line.main([*command, "--why"]) == 0
    assert capsys.readouterr().out.count("was committed as one of the 4 surest") == 128


def test_compare_json_holds_a_trace_per_decoder(capsys: pytest.CaptureFixture[str]) -> None:
    assert command_line.main(["compare", LOS_DIEGO, "--decoders", "dard,threshold", "--json"]) == 0
    assert list(json.loads(capsys.readouterr().out)) == ["dard", "threshold"]


def test_models_lists_the_registry(capsys: pytest.CaptureFixture[str]) -> None:
    assert command_line.main(["models", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["name"] == "embedded"


def test_bench_prints_its_ratios(capsys: pytest.CaptureFixture[str]) -> None:
    assert command_line.main(["bench", "--small", "--repeats", "1", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [row["key"] for row in rows] == list("abcdefghijklmnopq")
    assert all(row["value"] is None or row["value"] > -1 for row in rows)
    assert [row["key"] for row in rows if row["bar"] is None] == [
        "f",
        "g",
        "h",
        "k",
    ]  # for information: nothing to hold
    assert all((row["bar"] is None) == (row["holds"] is None) == (row["bar_shown"] == "") for row in rows)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "COMMAND"),
        (["nonsense"], "nonsense"),
        (["decode"], "prompt"),
        (["decode", "   "], "prompt is empty"),
        (["view"], "view takes trace files, or --page"),
        (["view", "--page", "view.txt"], "the name of a page ends in .html"),
        (["view", "t.json", "--page", "view.html"], "view takes trace files, or --page"),
        (["decode", LOS_DIEGO, "--tau-c", "1.5"], "tau_c"),
        (["decode", LOS_DIEGO, "--tau-c", "0.9", "--tau-u", "0.5"], "tau_c must be at most tau_u"),
        (["decode", LOS_DIEGO, "--lambda", "1"], "lambda_"),
        (["decode", LOS_DIEGO, "--block-length", "0"], "block_length"),
        (["decode", LOS_DIEGO, "--decoder", "magic"], "unknown decoder 'magic'"),
        (["decode", LOS_DIEGO, "--decoder", "wino", "--tau-c", "0.5"], "'tau_c' is not a setting here"),
        (["decode", LOS_DIEGO, "--model", "no-such-model"], "unknown model 'no-such-model'"),
        (["decode", "The city", "--gen-length", "0"], "no [MASK] left"),
        (["decode", "The moon"], "moon"),
        (["decode", LOS_DIEGO, "--trace", "no/such/folder/t.json"], "cannot be written"),
        (["decode", LOS_DIEGO, "--loa", "mine.py"], "unrecognized arguments: --loa mine.py"),
        (["compare", LOS_DIEGO, "--trace", "/dev/null/folder"], "cannot be written"),
        (["app", "--device", "cuda:77"], "device = 'cuda:77' is not allowed; this machine offers"),
        (["app", "--quantise", "5"], "quantise = 5 is not allowed"),
        (["compare", LOS_DIEGO, "--decoders", ","], "there is no decoder to compare"),
        (["compare", LOS_DIEGO, "--set", "dard"], "DECODER.SETTING=VALUE"),
        (["compare", LOS_DIEGO, "--decoders", "wino", "--tau-c", "0.5"], "'tau_c' is not a setting of wino"),
        (["bench", "--repeats", "0"], "--repeats"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command_line.main(arguments) == 2
    out, err = capsys.readouterr()
    assert words in err and err.startswith("dard: ") and err.count("\n") == 1
    assert out == ""
