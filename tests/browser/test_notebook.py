"""The widget in a real JupyterLab, and what it answers without one."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

import dard
from dard.models.scripted import LOS_DIEGO, los_diego
from tests.helpers import started
from tests.test_package import ROOT
from visual.notebook import Notebook

MAKE = f"""import dard
from dard.models.scripted import los_diego
shown = dard.widget(dard.Session(los_diego(), {LOS_DIEGO!r}, tau_c=0.4, tau_u=0.8))
shown"""
LOOK = "print(shown.step, shown.selected, shown.trace.num_steps, shown.trace.text)"
CELLS = (MAKE, LOOK, "shown.step = 1", LOOK)
QUIET = ("--no-browser", "--allow-root", "--log-level=ERROR", "--IdentityProvider.token=", "--ServerApp.root_dir=.")


def run_cell(page: Page, number: int) -> None:
    page.locator(".jp-CodeCell").nth(number).locator(".cm-content").click()
    page.keyboard.press("Shift+Enter")


def printed(page: Page, number: int, text: str) -> None:
    expect(page.locator(".jp-CodeCell").nth(number).locator(".jp-OutputArea-output")).to_contain_text(text)


@pytest.mark.long
def test_a_session_in_jupyterlab(chromium: Browser, tmp_path: Path) -> None:
    """Step, Run and What if against the kernel's model; where one looks comes back, and can be set."""
    cells = [
        {"cell_type": "code", "id": f"c{n}", "source": text, "metadata": {}, "outputs": [], "execution_count": None}
        for n, text in enumerate(CELLS)
    ]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
    notebook = {"cells": cells, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}
    (tmp_path / "try.ipynb").write_text(json.dumps(notebook))
    home = {name: str(tmp_path / "home") for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")}
    command = [sys.executable, "-m", "jupyterlab", *QUIET]
    with started(command, tmp_path, **home, PYTHONPATH=str(ROOT), OMP_NUM_THREADS="1") as url:
        page = chromium.new_context(viewport={"width": 1400, "height": 1300}).new_page()
        page.set_default_timeout(60_000)
        expect.set_options(timeout=30_000)
        try:
            page.goto(f"{url}lab/tree/try.ipynb?reset")
            page.locator(".jp-CodeCell").nth(3).wait_for()
            page.get_by_text("(ipykernel) | Idle").wait_for()  # what is run before is lost
            run_cell(page, 0)
            status = page.locator(".dv-status, [role=status]").filter(has_text="2 positions are masked").first
            expect(status).to_be_visible(timeout=60_000)
            page.get_by_role("button", name="Step", exact=True).click()
            page.get_by_role("button", name="Step", exact=True).click()
            expect(page.locator("[data-position='3']")).to_have_attribute("data-state", "M")
            page.locator("[data-position='3']").click()
            expect(page.locator(".dv-why")).to_contain_text("Los was revoked")
            page.wait_for_timeout(400)
            run_cell(page, 1)
            printed(page, 1, "2 3 2 ")
            page.get_by_role("button", name="Run to end").click()
            expect(page.get_by_role("button", name="Run to end")).to_be_disabled()
            expect(page.locator("[data-position='3'] .dv-t")).to_have_text("San")
            page.wait_for_timeout(400)
            run_cell(page, 2)
            expect(page.get_by_role("slider", name="step", exact=True)).to_have_attribute("aria-valuenow", "1")
            page.get_by_label("other token").fill("San")
            page.get_by_role("button", name="Branch here").click()
            expect(page.locator(".dv-branches")).to_contain_text("step 1: 3 → San")
            page.get_by_role("button", name="Run to end").click()
            expect(page.get_by_role("button", name="Run to end")).to_be_disabled()
            page.wait_for_timeout(400)
            run_cell(page, 3)
            printed(page, 3, "San Diego")
        finally:
            expect.set_options(timeout=5_000)
            page.context.close()


def test_a_widget_answers_as_the_page_does() -> None:
    trace = dard.decode(los_diego(), LOS_DIEGO, tau_c=0.4, tau_u=0.8)
    still = dard.widget(trace)
    assert isinstance(still, Notebook) and still.trace is trace and not still._live
    session = dard.Session(los_diego(), LOS_DIEGO, tau_c=0.4, tau_u=0.8)
    live = dard.widget(session)
    told, made = live._answers("advance", {"steps": 1})
    assert told["steps"][0]["step"]["i"] == 1 and made["lanes"][0]["steps"] == len(session.steps) == 1
    assert live._answers("branch", {"step": 1, "position": 3, "token": "San", "state": "U"})[0]["branch"] == 1
    live._branch = 1
    assert live.trace is not session.trace and live.trace.word(live.trace.tokens[3]) == "San"
    assert live._answers("export", {"kind": "trace"})[0]["name"] == "dard-trace.json.gz"
    bad: list[tuple[Any, Any]] = [
        ("start", {}), ("_view", {}), (5, {}), ("show", None), ("show", {"branch": 9}), ("advance", {"steps": "1"}),
        ("life", {"position": 99}), ("gif", {"frames": ["x"]}),
    ]  # fmt: skip
    for name, data in bad:
        [answer] = live._answers(name, data)
        assert answer["kind"] == "error" and answer["text"]
    assert still._answers("advance", {})[0]["kind"] == "error"
    with pytest.raises(dard.InputError, match="Session or a Trace"):
        dard.widget("a prompt")  # type: ignore[arg-type]
