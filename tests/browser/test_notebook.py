"""The widget in a real JupyterLab, and its two halves without one; what it answers: tests/contact/test_anywidget.py."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

import dard
from dard.models.scripted import LOS_DIEGO
from tests.browser.conftest import Visit
from tests.browser.test_causes import CITY
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
    """Step, Run, Causes and What if against the kernel's model; where one looks comes back, and can be set."""
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
            expect(page.locator(".dv-why")).to_contain_text("Los at 3 was revoked")
            page.get_by_role("tab", name="Causes").click()
            expect(page.get_by_label("causes", exact=True)).to_contain_text("Diego at 4 alone decides this")
            page.get_by_role("tab", name="Mask").click()
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
            expect(page.locator(".dv-branches")).to_contain_text("step 1, position 3: San")
            page.get_by_role("button", name="Run to end").click()
            expect(page.get_by_role("button", name="Run to end")).to_be_disabled()
            page.wait_for_timeout(400)
            run_cell(page, 3)
            printed(page, 3, "San Diego")
        finally:
            expect.set_options(timeout=5_000)
            page.context.close()


HOST = """<!doctype html><meta charset="utf-8"><title>widget</title><style>{style}</style><body><div id="el"></div>
<script type="module">{script}
while (!window.kernel) await new Promise(requestAnimationFrame);
let hear = null;
const values = {{ step: 0, selected: -1, _branch: 0, _live: true }};
widget.render({{ el: document.getElementById('el'), model: {{
    get: (name) => values[name], set: (more) => Object.assign(values, more), save_changes() {{}}, off() {{}},
    on: (name, call) => {{ if (name === 'msg:custom') hear = call; }},
    send: (question) => kernel(question).then((answer) => hear(answer)),
}} }});</script>"""


def test_causes_attention_and_a_hidden_token_in_a_widget(visit: Callable[..., Visit], tmp_path: Path) -> None:
    """What needs the model, asked by the widget's own script and answered by its kernel's half."""
    session = dard.Session(dard.load_model("embedded"), CITY, tau_c=0.4, tau_u=0.5)
    session.run()
    widget, answers = Notebook(session), []
    widget.send = answers.append  # type: ignore[method-assign]

    def kernel(question: Any) -> Any:
        widget._handle_custom_msg(question, [])
        return answers.pop()

    code = Notebook._esm.replace("export default", "const widget =")
    file = tmp_path / "widget.html"
    file.write_text(HOST.format(style=Notebook._css, script=code), encoding="utf-8")
    page = visit(file.as_uri(), ready=None).page
    page.expose_function("kernel", kernel)
    page.locator("[data-position='4']").first.click()
    page.get_by_role("slider", name="step", exact=True).press("ArrowRight")
    page.get_by_role("slider", name="step", exact=True).press("ArrowRight")
    page.get_by_role("tab", name="Causes").click()
    causes = page.get_by_label("causes", exact=True)
    expect(causes).to_contain_text("Los at 3 alone decides this", timeout=20_000)
    causes.get_by_role("button", name="Branch here").click()
    expect(page.locator(".dv-branches")).to_contain_text("step 2: Los at 3 hidden from all", timeout=20_000)
    page.get_by_role("tab", name="Mask").click()
    page.get_by_role("button", name="attention").click()
    expect(page.locator(".dv-insp")).to_contain_text("s query in layer 6: ", timeout=20_000)
