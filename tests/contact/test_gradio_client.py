"""The page's endpoints for programs, through Gradio's own client."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest
from gradio_client import Client
from gradio_client.exceptions import AppError

from dard.models.scripted import LOS_DIEGO, los_diego
from visual.page import build_page, launch_options
from visual.server.studio import Studio


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    """Of a page whose model is the scripted one, on a port that is free."""
    studio = Studio(("embedded",))
    studio.models.loaded["embedded"] = los_diego()
    page = build_page(studio)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    _, url, _ = page.launch(prevent_thread_lock=True, quiet=True, server_port=port, **launch_options())
    yield Client(url, verbose=False)
    page.close()


def test_programs_decode_compare_step_and_ask_for_causes(client: Client) -> None:
    body = client.predict(LOS_DIEGO, "dard", "", {"tau_c": 0.4}, api_name="/decode")
    assert body["text"].startswith("The city of San Diego")
    both = client.predict(LOS_DIEGO, ["standard", "wino"], "", {"standard": {"steps": 1}}, api_name="/compare")
    assert "Los Diego" in both["standard"]["text"] and list(both) == ["standard", "wino"]
    first = client.predict(LOS_DIEGO, "dard", "", {"tau_c": 0.4}, "", api_name="/step")
    second = client.predict("", "dard", "", {}, first["run"], api_name="/step")
    assert (first["step"]["index"], second["step"]["index"]) == (1, 2)
    found = client.predict(LOS_DIEGO, 2, 3, "dard", "", {"tau_c": 0.4, "tau_u": 0.8}, api_name="/causes")
    assert (found["causes"][0]["position"], found["by"], found["state"]) == (4, "s", "M") and "Diego" in found["note"]
    with pytest.raises(AppError, match="tau_c"):
        client.predict(LOS_DIEGO, "dard", "", {"tau_c": 7}, api_name="/decode")


def test_programs_ask_why_an_answer_is_wrong(client: Client) -> None:
    asked = {"prompt": LOS_DIEGO, "decoder": "standard", "settings": {"steps": 1}, "api_name": "/diagnose"}
    found = client.predict(**asked, expected="/San Diego|Los Angeles/")
    assert found["sentences"][0].startswith("Lost in step 1: 'Los' at 3 and 'Diego' at 4 were written in the same pass")
    assert found["diagnosis"]["stage"] == "done" and found["sentences"][-1].startswith("Avoided by steps = 2")
    early = client.predict(**asked, seconds=1e-6)
    assert early["diagnosis"]["stage"] == "states" and early["sentences"][-1].startswith("This is not all: the search")
    with pytest.raises(AppError, match="is no pattern"):
        client.predict(**asked, expected="/(/")
