"""The cards, and models of one's own."""

from __future__ import annotations

import argparse
import inspect
import json
import re
from pathlib import Path
from typing import Any

import pytest

import dard
from dard.cli import main as command_line
from dard.cli import options
from dard.decoders import DECODERS, make_settings
from dard.models import CARDS, register
from dard.models.families import ADAPTERS
from dard.models.registry import find_card, rows
from dard.models.scripted import los_diego
from tests.models.families import SHIFTED, WRITERS

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "extend.md"


def test_every_card_is_filled_and_its_defaults_are_settings() -> None:
    for name, card in CARDS.items():
        assert all(card.words().values()) and card.licence
        assert (card.folder is None) != (card.hub is None)
        known = {setting for decoder in DECODERS.values() for setting in decoder.Settings.allowed()}
        assert card.defaults.keys() <= known, name
        for decoder, kind in DECODERS.items():  # each takes what is its own
            make_settings(decoder, {k: v for k, v in card.defaults.items() if k in kind.Settings.allowed()})
        assert card.noise or {"tau_c", "tau_u"} <= card.defaults.keys(), name
    assert CARDS["mmada-8b-mixcot"].images and CARDS["llada-8b-instruct"].chat and not CARDS["llada-8b-base"].chat
    assert CARDS["mmada-8b-mixcot"].defaults == {"gen_length": 256, "block_length": 128, "tau_c": 0.4, "tau_u": 0.9}


def test_the_embedded_card_says_what_the_model_does() -> None:
    card = CARDS["embedded"]
    if card.folder and (card.folder / "config.json").exists():
        model = dard.load_model("embedded")
        assert dict(card.defaults) == model.defaults and model.chat is False


def test_a_card_says_what_was_tested(capsys: pytest.CaptureFixture[str]) -> None:
    """No weights but those of the embedded model are here; of the others only the format can be."""
    assert {card.tested for card in CARDS.values() if card.hub} == {"format tested, weights never seen here"}
    assert CARDS["embedded"].tested == "all of it, in every test run"
    assert command_line.main(["models"]) == 0
    assert "format tested" in capsys.readouterr().out


KINDS = {  # the writer in tests/models/families.py whose folders a card's repository looks like
    "llada-8b-instruct": "llada",
    "llada-8b-base": "llada",
    "llada-1.5": "llada",
    "llada-moe-7b-a1b-instruct": "llada_moe",
    "mmada-8b-mixcot": "mmada",
    "dream-7b-instruct": "dream",
    "dream-coder-7b-instruct": "dream",
    "diffucoder-7b-instruct": "dream",
    "llada2.0-mini": "llada2",
    "llada2.1-mini": "llada2",
    "llada2.1-flash": "llada2",
    "sdar-1.7b-chat": "sdar",
    "sdar-4b-chat": "sdar_4b",
    "sdar-8b-chat": "sdar_4b",
    "sdar-30b-a3b-chat": "sdar_moe",
    "trado-4b-instruct": "sdar",
    "fast-dllm-v2-1.5b": "fast_dllm",
    "fast-dllm-v2-7b": "fast_dllm",
    "efficient-dlm-4b": "efficient_dlm",
    "efficient-dlm-8b": "efficient_dlm",
    "d3llm-llada": "llada",
    "d3llm-dream": "dream",
    "open-dcoder-0.5b": "open_dllm",
    "qwen3-0.6b-diffusion-mdlm": "a2d",
    "bert-base-uncased": "bert",
    "distilbert-base-uncased": "distilbert",
    "roberta-base": "roberta",
    "modernbert-base": "modernbert",
}


@pytest.mark.parametrize(
    "name", [name for name, card in CARDS.items() if card.hub and name != "mmada-8b-mixcot" and not card.noise]
)
def test_every_card_loads_a_folder_of_its_kind(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its name, from the hub as it were, to a decode with its own defaults."""
    folder, _ = WRITERS[KINDS[name]](tmp_path / "snapshot")
    card = CARDS[name]
    size = int(card.attention.split(":")[1]) if card.attention and ":" in card.attention else None
    fetched: list[str] = []
    monkeypatch.setattr("dard.models.hub.download", lambda hub, tell: fetched.append(hub) or folder)
    model: Any = dard.load_model(name)
    assert fetched == [card.hub] and model.block_size == size and model.shifted == (KINDS[name] in SHIFTED)
    prompt = "the cat [MASK]" if "bert" in name else "the"
    settings = {"gen_length": 8} | ({} if size else {"block_length": 4})
    assert dard.decode(model, prompt, **settings).finished


def test_a_model_that_edits_does_so_as_published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, _ = WRITERS["llada2"](tmp_path / "snapshot")
    monkeypatch.setattr("dard.models.hub.download", lambda hub, tell: folder)
    told = dard.Session(dard.load_model("llada2.1-mini"), "the", "edit").settings.as_dict()
    wanted = {"threshold": 0.7, "edit_threshold": 0.5, "max_post_steps": 16, "steps": 32, "block_length": 32}
    assert wanted.items() <= told.items()
    told = dard.Session(dard.load_model("llada2.0-mini"), "the", "threshold").settings.as_dict()
    assert {"threshold": 0.95, "block_length": 32}.items() <= told.items()


def test_a_card_is_found_by_name_and_by_hub_id() -> None:
    assert find_card("dream-7b-instruct") is find_card("Dream-org/Dream-v0-Instruct-7B") is not None
    assert find_card("owner/name") is None


def test_the_command_prints_every_card(capsys: pytest.CaptureFixture[str]) -> None:
    assert command_line.main(["models"]) == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in rows())
    assert command_line.main(["models", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [row["name"] for row in found] == list(rows())
    assert found[1]["link"] == "https://huggingface.co/GSAI-ML/LLaDA-8B-Instruct"
    assert found[1]["defaults"]["block_length"] == 128


def test_the_command_line_takes_every_loading_option(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    register("two-cities", los_diego)
    try:
        begin = ["decode", "The city of [MASK] [MASK]", "--model", "two-cities"]
        assert command_line.main([*begin, "--plain", "--tau-c", "0.4"]) == 0
        assert command_line.main([*begin, "--image", str(tmp_path / "x.png")]) == 2
        assert "takes no image" in capsys.readouterr().err
    finally:
        del CARDS["two-cities"]
    parser = argparse.ArgumentParser()
    options.add_loading(parser)
    given = options.loading_options(parser.parse_args([]))
    assert {"name", "progress", *given} == set(inspect.signature(dard.load_model).parameters)
    assert command_line.main(["decode", "The", "--quantise", "5"]) == 2
    assert "quantise = 5 is not allowed" in capsys.readouterr().err


def test_a_model_of_one_s_own_goes_by_its_name() -> None:
    register("two-cities", los_diego, title="knows two cities", licence="MIT")
    try:
        assert dard.load_model("two-cities").name == "los-diego"
        assert CARDS["two-cities"].origin == "your own code"
        register("two-cities", los_diego)  # again, as a notebook does
        with pytest.raises(dard.InputError, match="name = 'embedded' is not allowed for a model of your own"):
            register("embedded", los_diego)
    finally:
        del CARDS["two-cities"]


def test_the_example_of_a_foreign_model_runs() -> None:
    """A foreign model in thirty lines: the very text."""
    section = GUIDE.read_text(encoding="utf-8").split("## A model\n")[1].split("\n## ")[0]
    (example,) = re.findall(r"```python\n(.*?)```", section, re.S)
    assert len(example.splitlines()) <= 30
    try:
        exec(compile(example, str(GUIDE), "exec"), {})
        assert dard.decode(dard.load_model("alphabet"), "a[MASK][MASK]d").text == "abcd"
    finally:
        CARDS.pop("alphabet", None)


def test_adapters_stay_small() -> None:
    for adapter in ADAPTERS:
        assert len(Path(adapter.__file__ or "").read_text(encoding="utf-8").splitlines()) < 150


def test_every_adapter_says_what_it_was_compared_with() -> None:
    for adapter in ADAPTERS:
        for family, (compared, never) in adapter.COMPARED.items():
            assert family and re.search(r"`tests/[\w/]+\.py`", compared) and never, family
