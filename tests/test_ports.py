"""Tests stay off the port of `make app`."""

from __future__ import annotations

import subprocess
import sys

import gradio as gr
import pytest

from tests.conftest import PORT
from tests.helpers import aside


def test_no_server_of_a_test_gets_the_port_of_the_app(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GRADIO_SERVER_PORT", raising=False)
    with gr.Blocks() as page:
        gr.Button("One")
    for options in ({}, {"server_port": PORT}):
        with pytest.raises(AssertionError, match=f"port {PORT}"):
            aside(lambda options=options: page.launch(prevent_thread_lock=True, quiet=True, **options))


@pytest.mark.parametrize("command", [["app.py"], ["-m", "dard", "app", "--model", "embedded"]])
def test_nor_does_a_page_that_a_test_starts(command: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GRADIO_SERVER_PORT", raising=False)
    with pytest.raises(AssertionError, match=f"port {PORT}"):
        subprocess.Popen([sys.executable, *command])
