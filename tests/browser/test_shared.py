"""What others recorded, on the page: a link to a trace of the hub, and a case of a model that is not offered here."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from urllib.parse import parse_qs, quote, urlsplit

import pytest
from playwright.sync_api import Browser, Page, Route, expect

import dard
from tests.browser.conftest import Visit
from tests.helpers import serving
from tests.test_contribute import MODEL, SAID, recorded
from visual.contribute import add_case
from visual.page import build_page, launch_options
from visual.server import cases
from visual.server.studio import Studio

Visiting = Callable[..., Visit]
READY = "button[data-position]:visible"
ADDRESS = "https://huggingface.co/datasets/me/traces/resolve/main/traces/mine-1.json.gz"
ALLOWED = {"access-control-allow-origin": "*"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A page whose gallery has a case that somebody recorded."""
    shelf = tmp_path_factory.mktemp("shelf") / "gallery"
    shutil.copytree(cases.GALLERY, shelf)
    add_case(recorded(), SAID | {"step": 2, "select": 4}, shelf)
    add_case(recorded(decoder="fast_generate"), SAID | {"name": "A foreign sampler"}, shelf)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cases, "GALLERY", shelf)
        studio = Studio(("embedded",))
        studio.models.loaded["embedded"] = dard.load_model("embedded")
        with serving(build_page(studio), **launch_options()) as url:
            yield url


@pytest.fixture
def linked(server: str, chromium: Browser) -> Iterator[Callable[..., Page]]:
    """The page, opened by a link; the hub is what `answer` makes of it."""
    contexts = []

    def open_page(query: str, answer: Callable[[Route], None] | None = None) -> Page:
        contexts.append(context := chromium.new_context(viewport={"width": 1280, "height": 800}))
        context.add_init_script("try { localStorage.setItem('dard-view', 'full') } catch {}")
        if answer:
            context.route("https://huggingface.co/**", answer)
        page = context.new_page()
        page.goto(server + query)
        return page

    yield open_page
    for context in contexts:
        context.close()


def hands_over(route: Route) -> None:
    assert route.request.url == ADDRESS and "authorization" not in route.request.headers
    route.fulfill(body=recorded().to_bytes(), headers=ALLOWED)


def test_a_link_to_a_trace_of_the_hub_opens_it_and_stays_the_link(linked: Callable[..., Page]) -> None:
    page = linked(f"?url={quote(ADDRESS)}", hands_over)
    expect(page.locator(".dw-summary:visible")).to_contain_text(MODEL)
    expect(page.get_by_role("slider", name="step", exact=True)).to_have_attribute("aria-valuemax", "5")
    expect(page.locator(".dw-alert:visible")).to_have_count(0)
    page.keyboard.press("ArrowRight")
    page.wait_for_timeout(400)  # the address has come to rest
    assert parse_qs(urlsplit(page.url).query)["url"] == [ADDRESS]
    page.reload()
    expect(page.locator(".dw-summary:visible")).to_contain_text(MODEL)
    page.locator(".dw-gallery:visible button").get_by_text("Los Diego", exact=True).click()
    page.wait_for_url(lambda url: "url=" not in url and "prompt=" in url)
    page.go_back()
    expect(page.locator(".dw-summary:visible")).to_contain_text(MODEL)


def test_two_links_open_side_by_side(linked: Callable[..., Page]) -> None:
    page = linked(f"?url={quote(ADDRESS)}&url={quote(ADDRESS)}", hands_over)
    expect(page.get_by_role("tab", name="Compare")).to_have_attribute("aria-selected", "true")
    expect(page.locator(".dw-slot:visible")).to_have_count(2)


@pytest.mark.parametrize(
    ("address", "answer", "sentence"),
    [
        ("https://example.org/t.json.gz", None, "?url= must be an https address of huggingface.co here"),
        ("http://huggingface.co/t.json.gz", None, "?url= must be an https address of huggingface.co here"),
        ("https://huggingface.co.example.org/t", None, "?url= must be an https address of huggingface.co here"),
        ("https://me@example.org:443/huggingface.co", None, "?url= must be an https address of huggingface.co here"),
        ("file:///etc/passwd", None, "?url= must be an http or https address"),
        ("https://huggingface.co/" + "a" * 3000, None, "?url= must be an http or https address"),
        (ADDRESS, lambda route: route.fulfill(status=404, headers=ALLOWED), "huggingface.co answered 404"),
        (ADDRESS, lambda route: route.abort(), "huggingface.co did not give it to this page"),
        (ADDRESS, lambda route: route.fulfill(body=b"{}", headers=ALLOWED), "trace"),
    ],
)
def test_what_a_link_names_and_cannot_be_had_is_told_above_the_first_case(
    linked: Callable[..., Page], address: str, answer: Callable[[Route], None] | None, sentence: str
) -> None:
    page = linked(f"?url={quote(address)}", answer)
    expect(page.locator(".dw-alert:visible")).to_contain_text(sentence)
    expect(page.locator(READY).first).to_be_visible()
    expect(page.get_by_label("Prompt").locator("visible=true")).to_have_value(
        "The city of [MASK] [MASK] is on the Southern California coast ."
    )


def test_the_policy_lets_the_browser_fetch_from_the_hub_and_from_nowhere_else(linked: Callable[..., Page]) -> None:
    page = linked("", lambda route: route.fulfill(body="fine", headers=ALLOWED))
    expect(page.locator(READY).first).to_be_visible()
    refused = "(url) => fetch(url).then(() => 'fetched', (error) => document.refused ?? String(error))"
    page.evaluate("addEventListener('securitypolicyviolation', ({ blockedURI }) => { document.refused = blockedURI; })")
    page.route("https://*.hf.co/**", lambda route: route.fulfill(body="fine", headers=ALLOWED))
    assert page.evaluate(refused, "https://huggingface.co/x") == "fetched"
    assert page.evaluate(refused, "https://cas-bridge.xethub.hf.co/x") == "fetched"
    page.evaluate(refused, "https://example.org/x")
    page.wait_for_function("document.refused?.startsWith('https://example.org')")


def test_a_case_of_a_model_that_is_not_offered_is_replayed_with_its_name(server: str, visit: Visiting) -> None:
    page = visit(server, ready=READY).page
    chip = page.locator(".dw-gallery:visible button").get_by_text("Two cities · LLaDA-8B-Instruct", exact=True)
    chip.click()
    expect(chip).to_have_attribute("aria-pressed", "true")
    slider = page.get_by_role("slider", name="step", exact=True).locator("visible=true")
    expect(slider).to_have_attribute("aria-valuemax", "5")
    expect(slider).to_have_attribute("aria-valuenow", "2")
    expect(page.locator(".dw-summary:visible")).to_contain_text(MODEL)
    page.get_by_role("button", name="About this case").locator("visible=true").click()
    expect(page.locator(".dw-about:visible")).to_contain_text(f"Recorded on {MODEL} by A. Nother, CC0-1.0.")
    page.keyboard.press("Escape")
    foreign = page.locator(".dw-gallery:visible button").get_by_text(
        "A foreign sampler · LLaDA-8B-Instruct", exact=True
    )
    foreign.click()
    expect(foreign).to_have_attribute("aria-pressed", "true")
    page.get_by_role("tab", name="Compare").click()
    other = page.locator(".dw-gallery:visible button").get_by_text("Two cities · LLaDA-8B-Instruct", exact=True)
    other.click()
    expect(other).to_have_attribute("aria-pressed", "true")
    expect(page.locator(".dw-slot:visible")).to_have_count(1)
    expect(page.locator(".dw-alert:visible")).to_have_count(0)
