"""The static site on a plain web server."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Visit
from tests.browser.test_open import served
from visual.server.cases import gallery, lessons
from visual.site import main

Visiting = Callable[..., Visit]
pytestmark = pytest.mark.xdist_group("site")  # which takes a while to write


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("site")
    main(str(folder))
    with served(folder) as url:
        yield url


def test_the_gallery(site: str, visit: Visiting) -> None:
    page = visit(f"{site}/", ready=".cases").page
    assert page.locator(".cases h2").all_inner_texts() == [case["name"] for case in gallery()]
    links = page.eval_on_selector_all("a", "(found) => found.map((a) => a.getAttribute('href'))")
    for link in links:
        assert page.request.get(f"{site}/{link}").ok, link
    page.get_by_role("link", name="step by step").first.click()
    page.wait_for_selector("body[data-ready]")
    expect(page.get_by_role("heading", name="Los Diego")).to_be_visible()
    page = visit(f"{site}/gallery/01-los-diego-compared.html").page
    expect(page.get_by_role("heading", name="4 decodes, one scrubber")).to_be_visible()
    page = visit(f"{site}/view.html?url=gallery/01-los-diego.trace.json.gz").page
    expect(page.locator("#title")).to_have_text("01-los-diego")


def test_learn(site: str, visit: Visiting) -> None:
    """Every page of the tour shows its decode, also with several lanes, and nothing asks for a model."""
    page = visit(f"{site}/learn.html", ready="button[data-position]").page
    for number, lesson in enumerate(lessons()):
        expect(page.locator(".df-hook")).to_have_text(f"{number + 1} · {lesson['title']}")
        rows = len(lesson["show"].get("lanes", []))
        expect(page.locator(".df-who tr")).to_have_count(rows)
        expect(page.locator("body")).not_to_have_class(re.compile("dw-busy"))
        if lesson["ask"]["kind"] == "choose":
            page.get_by_role("button", name="Show the answer").click()
            expect(page.locator(".dq-answer")).to_have_text(re.sub(r"_(\w)", r"\1", lesson["ask"]["answer"]))
        if lesson["name"] == "lost":
            expect(page.locator(".dv-p-diagnosis")).to_contain_text("Lost in step 3")
        if number + 1 < len(lessons()):
            page.get_by_role("button", name="Next").click()
    expect(page.get_by_role("alert").filter(visible=True)).to_have_count(0)
    page.reload()
    expect(page.locator(".df-hook")).to_have_text(f"12 · {lessons()[-1]['title']}")


def test_a_page_that_was_turned_is_there_after_a_reload(site: str, visit: Visiting) -> None:
    """Before its decode has arrived, which here it never does."""
    page = visit(f"{site}/learn.html", ready="button[data-position]").page
    page.route(re.compile("/learn/[12].txt"), lambda route: None)
    for lesson in lessons()[1:3]:
        page.get_by_role("button", name="Next").click()
        expect(page.locator(".df-hook")).to_contain_text(lesson["title"])
    page.reload()
    expect(page.locator(".df-hook")).to_contain_text(lessons()[2]["title"])
    page.go_back()
    expect(page.locator(".df-hook")).to_contain_text(lessons()[1]["title"])


def test_whoever_leaves_at_once_comes_back_to_the_same_step(site: str, visit: Visiting) -> None:
    page = visit(f"{site}/learn.html?lesson=states", ready="button[data-position]").page
    token = page.locator("button[data-position='3']")
    expect(token).to_have_attribute("data-state", "M")
    page.wait_for_url(re.compile("step=0"))
    page.wait_for_timeout(500)  # when nothing is left to be written
    token.evaluate("""(token) => {
        token.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowRight', bubbles: true }));
        location.href = 'view.html';
    }""")
    page.wait_for_url(re.compile("view.html"))
    page.go_back()
    expect(token).to_have_attribute("data-state", "U")


def test_recorded_results(site: str, visit: Visiting) -> None:
    page = visit(f"{site}/results.html", ready=".dx-table").page
    expect(page.locator(".dx-chart .main-svg").first).to_be_visible()
    expect(page.get_by_role("button", name="Run experiment")).to_have_count(0)
    runs = page.get_by_role("region", name="Decodes")
    page.locator(".dx-table button").first.click()
    expect(runs).to_contain_text("100 runs,")
    expect(runs.locator(".dx-list li")).to_have_count(100)
    expect(
        page.locator("main, body").get_by_role("button", name=re.compile("Compare|All samples|Stop|Open"))
    ).to_have_count(0)
    expect(runs.locator("select, input, .dx-list button")).to_have_count(
        0
    )  # nothing that a server would have to answer
    listed = runs.locator("h2").inner_text()
    page.get_by_role("button", name="close").click()
    # A click on a point of the chart lists its decodes, too.
    expect(page.locator(".dx-chart .main-svg").first).to_have_attribute("width", re.compile(r"^1\d\d\d"))
    point = page.locator(".dx-chart .point").last
    point.hover(force=True)
    expect(page.locator(".dx-chart .hoverlayer .hovertext").first).to_be_visible()
    point.click(force=True)
    expect(runs).to_contain_text("100 runs,")
    assert runs.locator("h2").inner_text() != listed
    with page.expect_download() as saved:
        page.get_by_role("button", name="Download tables").click()
    assert Path(saved.value.path()).read_text(encoding="utf-8").startswith("#")
    page.get_by_label("Experiment", exact=True).select_option("endings")
    expect(page.locator(".dx-about")).to_contain_text("samples")
