"""The project as a Hugging Face Space: its front matter, its files, and that it starts with a Space's environment."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from gradio_client import Client
from gradio_client.exceptions import AppError

import dard
from dard.models.scripted import LOS_DIEGO
from tests.helpers import started
from visual import space

ROOT = Path(__file__).resolve().parents[1]
LARGEST_FILE = 10_000_000
# What a Space's image brings along, as far as it is needed to start.
FAKE_SPACES = """
def GPU(duration):
    return lambda function: function

def gradio_auto_wrap(function):
    return function
"""


def test_folders_in_folders_are_uploaded_too(tmp_path: Path) -> None:
    names = ["assets/web/a.js", "assets/web/deep/er/b.js", "dard/deep/er/c.py", "visual/deep/er/d.py"]
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert space.files(tmp_path) == names
    code = {
        path.relative_to(ROOT).as_posix() for folder in ("dard", "visual") for path in (ROOT / folder).rglob("*.py")
    }
    assert code <= {*space.files()}


def test_what_is_uploaded_is_what_a_space_needs(capsys: pytest.CaptureFixture[str]) -> None:
    assert space.main(["somebody/dard-studio", "--dry-run"]) == 0
    listed = [line.split()[-1] for line in capsys.readouterr().out.splitlines()[:-1]]
    needed = {"app.py", "requirements.txt", "README.md", "assets/model/model.safetensors", "assets/web/shell/viewer.js"}
    assert needed <= {*listed} and listed == space.files()
    assert sum(name.startswith("assets/gallery/") and name.endswith(".gz") for name in listed) >= 10
    assert not [name for name in listed if name.startswith("tests") or name.endswith(".jsonl") or "__pycache__" in name]
    assert {name: size for name in listed if (size := (ROOT / name).stat().st_size) >= LARGEST_FILE} == {}


def test_a_space_holds_the_files_and_no_others_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    """The hub is played by what records the calls."""
    calls: dict[str, Any] = {}

    class Hub:
        def create_repo(self, name: str, **how: Any) -> None:
            calls["created"] = name, how["repo_type"], how["exist_ok"]

        def list_repo_files(self, name: str, **how: Any) -> list[str]:
            return [".gitattributes", "app.py", "old/file.py"]

        def create_commit(self, name: str, operations: list[Any], **how: Any) -> None:
            calls["sent"] = {each.path_in_repo: type(each).__name__ for each in operations}

    monkeypatch.setattr("huggingface_hub.HfApi", Hub)
    assert space.upload("somebody/dard-studio") == "https://huggingface.co/spaces/somebody/dard-studio"
    assert calls["created"] == ("somebody/dard-studio", "space", True)
    assert calls["sent"].pop("old/file.py") == "CommitOperationDelete"
    assert [*calls["sent"]] == space.files() and {*calls["sent"].values()} == {"CommitOperationAdd"}


def test_what_cannot_be_uploaded_is_told_in_a_sentence(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert space.main(["nobody"]) == 2 and "owner/name" in capsys.readouterr().err
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9")
    assert space.main(["somebody/dard-studio"]) == 2 and "could not be uploaded" in capsys.readouterr().err
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (tmp_path / "app.py").touch()
    (tmp_path / "requirements.txt").write_text("gradio==1.0.0\n", encoding="utf-8")
    (tmp_path / "README.md").write_text(text, encoding="utf-8")
    with pytest.raises(dard.InputError, match=r"sdk_version = .* must be 1\.0\.0"):
        space.front_matter(tmp_path)
    with pytest.raises(dard.InputError, match="title"):
        (tmp_path / "README.md").write_text("no front matter", encoding="utf-8")
        space.front_matter(tmp_path)


def on_a_space(**environment: str) -> AbstractContextManager[str]:
    """`python app.py` as a Space runs it."""
    return started([sys.executable, "app.py"], ROOT, SPACE_ID="somebody/dard-studio", SYSTEM="spaces", **environment)


@pytest.mark.parametrize("borrows", [False, True], ids=["CPU", "ZeroGPU"])
def test_without_a_network_a_space_works_and_says_which_model_it_cannot_have(tmp_path: Path, borrows: bool) -> None:
    (tmp_path / "spaces.py").write_text(FAKE_SPACES, encoding="utf-8")
    own = {"SPACES_ZERO_GPU": "1", "PYTHONPATH": str(tmp_path)} if borrows else {}
    offered = ["embedded", "bert-base-uncased", *["llada-8b-instruct"] * borrows]
    no_network = {"HF_ENDPOINT": "http://127.0.0.1:9", "HF_HUB_OFFLINE": "0", "HF_HOME": str(tmp_path)}
    with on_a_space(**no_network, **own) as url:
        client = Client(url, verbose=False)
        health = client.predict(api_name="/health")
        assert list(health["models"]) == offered and health["borrows_gpu"] is borrows
        assert list(health["self_test"]) == ["embedded"] and health["self_test"]["embedded"]["ok"]
        # Where a GPU is borrowed, what was not loaded at the start would not be there beside it.
        assert isinstance(health["models"]["embedded"], dict) and health["models"]["embedded"]["device"] == "cpu"
        with pytest.raises(AppError, match="the hub cannot be reached") as error:
            client.predict(LOS_DIEGO, "dard", offered[-1], {}, api_name="/decode")
        assert ("when this Space was started" in str(error.value)) == borrows
        assert "[MASK]" not in client.predict(LOS_DIEGO, "dard", "", {}, api_name="/decode")["text"]
