"""How a mask-filling Llama or Qwen was trained: known of some, to be said of the others, never guessed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import dard
from dard.cli import main as command_line
from dard.models import CARDS
from tests.models.families import write_a2d, write_bert, write_open_dllm, write_sdar
from tests.models.folders import change_config
from visual.server.studio import Studio


@pytest.mark.parametrize("kind", ["llama", "qwen2", "qwen3"])
def test_a_mask_token_alone_does_not_say_how_a_model_was_trained(kind: str, tmp_path: Path) -> None:
    folder, _ = write_open_dllm(tmp_path / "m")
    change_config(folder, model_type=kind)
    with pytest.raises(dard.InputError) as caught:
        dard.load_model(folder)
    assert str(caught.value) == (
        f"model folder 'm' holds a mask-filling {kind} whose files do not say how it was trained: some see everything, "
        "some only their block and those before, and some predict one position ahead; say attention = 'bidirectional' "
        "or 'block:N' (--attention), and shift = True (--shift) for the last"
    )


@pytest.mark.parametrize(
    ("said", "block", "shifted"),
    [
        ({"attention": "bidirectional"}, None, False),
        ({"attention": "bidirectional", "shift": True}, None, True),
        ({"attention": "block:8"}, 8, False),
        ({"attention": "block:32", "shift": True}, 32, True),
    ],
)
def test_what_is_said_holds(said: dict[str, Any], block: int | None, shifted: bool, tmp_path: Path) -> None:
    model: Any = dard.load_model(write_open_dllm(tmp_path / "m")[0], **said)
    assert (model.block_size, model.shifted) == (block, shifted)


@pytest.mark.parametrize("attention", ["causal", "block", "block:0", "block:-4", "block:99999", ""])
def test_another_word_is_refused(attention: str, tmp_path: Path) -> None:
    with pytest.raises(dard.InputError, match=r"attention = .* is not allowed; write bidirectional, or block:N"):
        dard.load_model(write_open_dllm(tmp_path / "m")[0], attention=attention)


def test_the_block_diffusion_checkpoints_of_dllm_have_the_type_of_the_others(tmp_path: Path) -> None:
    assert dard.load_model(write_a2d(tmp_path / "Qwen3-0.6B-diffusion-mdlm")[0]).block_size is None
    folder, _ = write_a2d(tmp_path / "Qwen3-0.6B-diffusion-bd3lm")
    with pytest.raises(dard.InputError, match="do not say how it was trained"):
        dard.load_model(folder)
    assert dard.load_model(folder, attention="block:32").block_size == 32


def test_a_block_without_a_size_must_be_told(tmp_path: Path) -> None:
    folder, _ = write_sdar(tmp_path / "m")
    assert dard.load_model(folder).block_size == 4
    change_config(folder, block_size=None)
    with pytest.raises(dard.InputError, match="mask-filling sdar whose files do not say"):
        dard.load_model(folder)
    assert dard.load_model(folder, attention="block:16").block_size == 16


def test_a_family_of_which_it_is_known_takes_no_answer(tmp_path: Path) -> None:
    folder, _ = write_bert(tmp_path / "m")
    for said in ({"attention": "bidirectional"}, {"shift": False}):
        with pytest.raises(
            dard.InputError, match=f"{next(iter(said))} cannot be said of model folder 'm': it is known of 'bert'"
        ):
            dard.load_model(folder, **said)


def test_the_command_line_can_say_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, _ = write_open_dllm(tmp_path / "m")
    begin = ["decode", "the [MASK] of", "--model", str(folder)]
    assert command_line.main(begin) == 2 and "say attention" in capsys.readouterr().err
    assert command_line.main([*begin, "--attention", "bidirectional", "--shift"]) == 0


def test_a_page_may_offer_it_beside_a_model_of_which_it_is_known(tmp_path: Path) -> None:
    folder, _ = write_open_dllm(tmp_path / "m")
    studio = Studio(("embedded", str(folder)), attention="bidirectional", shift=True)
    models: list[Any] = [studio.models.load(name) for name in studio.models.names]
    assert [model.shifted for model in models] == [False, True]


def test_the_registry_knows_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, _ = write_open_dllm(tmp_path / "snapshot")
    monkeypatch.setattr("dard.models.hub.download", lambda hub, tell: folder)
    model: Any = dard.load_model("open-dcoder-0.5b")
    assert model.shifted and model.block_size is None
    assert CARDS["open-dcoder-0.5b"].hub == "fredzzp/open-dcoder-0.5B"
