"""The project as a Hugging Face Space: its front matter, its files, and that it starts with a Space's environment."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from gradio_client import Client
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client

from dard.models.scripted import LOS_DIEGO
from tests.helpers import started

ROOT = Path(__file__).resolve().parents[1]
LARGEST_FILE = 10_000_000
# What a Space's image brings along, as far as it is needed to start.
FAKE_SPACES = """
def GPU(duration):
    return lambda function: function

def gradio_auto_wrap(function):
    return function
"""


def front_matter() -> dict[str, str]:
    block = re.match(r"---\n(.*?)\n---\n", (ROOT / "README.md").read_text(encoding="utf-8"), re.S)
    assert block
    return dict(line.split(": ", 1) for line in block[1].splitlines())


def pinned(package: str) -> str:
    found = re.search(rf"^{package}==(\S+)", (ROOT / "requirements.txt").read_text(encoding="utf-8"), re.M)
    assert found
    return found[1]


def files() -> list[Path]:
    """What a push to the Space would carry."""
    try:
        listed = subprocess.run(
            ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout.split("\0")
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this is not a checkout")
    return [path for name in listed if name and (path := ROOT / name).exists()]


def test_the_front_matter_names_what_is_there() -> None:
    matter = front_matter()
    assert matter["sdk"] == "gradio" and matter["sdk_version"] == pinned("gradio")
    assert (ROOT / matter["app_file"]).is_file()
    assert len(matter["short_description"]) <= 60
    assert {"title", "emoji", "colorFrom", "colorTo", "license", "python_version"} <= matter.keys()


def test_every_file_is_small_enough_and_all_that_is_needed_is_there() -> None:
    carried = files()
    assert {path.name: path.stat().st_size for path in carried if path.stat().st_size >= LARGEST_FILE} == {}
    names = {str(path.relative_to(ROOT)) for path in carried}
    needed = {"app.py", "requirements.txt", "README.md", "assets/model/model.safetensors", "assets/web/viewer.js"}
    assert needed <= names
    assert sum(name.startswith("assets/gallery/") and name.endswith(".gz") for name in names) >= 10


def on_a_space(**environment: str) -> AbstractContextManager[str]:
    """`python app.py` as a Space runs it."""
    return started([sys.executable, "app.py"], ROOT, SPACE_ID="somebody/dard-studio", SYSTEM="spaces", **environment)


def test_a_cpu_space_works_on_the_embedded_model() -> None:
    with on_a_space() as url:
        client = Client(url, verbose=False)
        health = client.predict(api_name="/health")
        assert list(health["models"]) == ["embedded"] and health["borrows_gpu"] is False
        decoded = client.predict(
            "The city of [MASK] [MASK] is on the Southern California coast .", "dard", "", {}, api_name="/decode"
        )
        assert "[MASK]" not in decoded["text"]
        assert client.predict(api_name="/health")["models"]["embedded"]["weights"] > 1_000_000


def test_a_zero_gpu_space_loads_its_models_at_the_start(tmp_path: Path) -> None:
    (tmp_path / "spaces.py").write_text(FAKE_SPACES, encoding="utf-8")
    with on_a_space(SPACES_ZERO_GPU="1", PYTHONPATH=str(tmp_path), DARD_MODELS="embedded") as url:
        health = Client(url, verbose=False).predict(api_name="/health")
        assert health["borrows_gpu"] is True
        assert health["models"]["embedded"]["device"] == "cpu"


def test_an_assistant_asks_why_a_token_was_revoked() -> None:
    """The endpoints as MCP tools, through a real client of that protocol."""

    async def conversation(url: str) -> tuple[set[str], str, str]:
        async with (
            streamable_http_client(f"{url}gradio_api/mcp/") as (reading, writing, _),
            ClientSession(reading, writing) as assistant,
        ):
            await assistant.initialize()
            tools = {tool.name for tool in (await assistant.list_tools()).tools}
            asked = {"prompt": LOS_DIEGO, "settings": {"tau_c": 0.4, "tau_u": 0.5}}
            told = await assistant.call_tool("explain", asked)
            bad = await assistant.call_tool("explain", {**asked, "settings": {"tau_c": 7}})
            return tools, told.content[0].text, bad.content[0].text  # type: ignore[union-attr]

    with started([sys.executable, "app.py", "--mcp"], ROOT) as url:
        tools, told, bad = asyncio.run(conversation(url))
    assert {"decode", "compare", "step", "explain", "health"} <= tools
    assert "'Diego' was revoked" in told and "Los Angeles" in told
    assert "tau_c" in bad
