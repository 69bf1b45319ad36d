"""The inspector as people meet it: in a real browser, by mouse and by keyboard, without scripts, in both languages and
both colours; with an accessibility checker (axe-core) and a page that wishes it ill."""

from __future__ import annotations

import http.server
import os
import threading
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.browser import Browser, Page
from tests.serve.running import HOSTILE_TITLE, Site, retrieval_ids

PAGES = {
    "home": "/", "search": "/?q=why+did+the+warmup+diverge", "nothing": "/?q=zzzzqqq", "hostile": "/?q=Hostile+publish+warmup+turned",
    "retrievals": "/retrievals", "memories": "/memories", "memory": "/memory?id=m-steps", "case": "/memory?id=case-r8",
    "sources": "/sources", "audit": "/audit?verify=1", "problem": "/retrieval?id=r0-none", "missing": "/no-such-page",
}  # fmt: skip


TEXT_OF = "element => element.innerText"


@cache
def axe() -> str:
    """axe-core: of the package, or of the file that ARR_AXE names (a newer one)."""
    import axe_core_python

    named = os.environ.get("ARR_TEST_AXE")
    path = Path(named) if named else Path(axe_core_python.__file__).with_name("axe.min.js")
    return path.read_text("utf-8")


@pytest.fixture(scope="module")
def browser(browser_path: str) -> Iterator[Browser]:
    """One browser for the module."""
    with Browser(browser_path, hosts=("rebound.test", "evil.test")) as started:
        yield started


def enter(page: Page, site: Site) -> None:
    """Open the address that was printed, and arrive."""
    page.open(site.entry)
    arrive(page, site)


def arrive(page: Page, site: Site) -> None:
    """The entry leads on by itself."""
    page.wait_for(
        f"location.href === '{site.base}/' && document.readyState === 'complete' && !!document.querySelector('main')"
    )


def test_the_token_leaves_the_address_bar(browser: Browser, site: Site) -> None:
    """Without a script, by the address alone; what the browser keeps is out of reach of scripts."""
    with browser.page(scripts=False) as page:
        assert page.open(f"{site.base}/") == 403
        enter(page, site)
        assert page.url == f"{site.base}/"
        assert page.evaluate("document.cookie") == ""
        assert page.evaluate("document.referrer") == ""


def test_searching_by_keyboard_without_scripts(browser: Browser, site: Site) -> None:
    """The field has the focus; typing and Enter give evidence; the first Tab offers to skip to it."""
    with browser.page(scripts=False) as page:
        enter(page, site)
        page.type("why did r7 diverge NAN_LOSS_17")
        with page.navigation():
            page.press("Enter")
        assert "notes/warmup.md" in page.text(".evidence h3")
        marked = page.evaluate(
            "[...document.querySelectorAll('.evidence li:first-child .excerpt mark')].map(m => m.innerText)"
        )
        assert "NAN_LOSS_17" in marked and "diverged" in marked
        page.press("Tab")
        assert page.evaluate("document.activeElement.className") == "skip"
        page.press("Enter")
        assert page.evaluate("document.activeElement.id") == "content"
        page.press("Tab")
        assert page.evaluate("document.activeElement.id") == "q"
        outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline == "solid"
        page.click(".evidence summary")
        assert page.count(".evidence details[open]") == 1
        with page.navigation():
            page.click(".evidence details a[href^='/chunk']")
        assert "notes/warmup.md" in page.text("h1") and page.count("mark")


def test_what_is_weaker_is_said_in_words(browser: Browser, site: Site) -> None:
    """A degradation has its sentence and its code, in the language chosen."""
    with browser.page(language="zh-CN,zh;q=0.9") as page:
        enter(page, site)
        page.open(f"{site.base}/?q=warmup+%E9%A2%84%E7%83%AD")
        verdict = page.text(".verdict")
        assert "部分完成" in verdict and ("arr embed" in verdict or "arr model list" in verdict)
        assert page.evaluate("document.documentElement.lang") == "zh-CN"
        languages = page.evaluate("[...document.querySelectorAll('.evidence .text')].map(t => t.lang)")
        assert {"en", "zh"} <= set(languages)
        with page.navigation():
            page.click("footer a[lang=en]")
        assert page.url == f"{site.base}/?q=warmup+%E9%A2%84%E7%83%AD"
        assert "Partial" in page.text(".verdict") and "arr" in page.text(".verdict code")


def test_past_retrieval_memory_sources_and_audit(browser: Browser, site: Site) -> None:
    """From page to page by links: the record, the memory's history and approval, the changed and the missing file."""
    with browser.page() as page:
        enter(page, site)
        newest = retrieval_ids(site.folder)[0]
        with page.navigation():
            page.click("nav a[href='/retrievals']")
        with page.navigation():
            page.click(f"a[href='/retrieval?id={newest}']")
        assert page.text("h1") == "预热步数" and page.count("table.timeline tbody tr") == 4
        page.open(f"{site.base}{PAGES['memory']}")
        assert page.text("h1") == HOSTILE_TITLE
        assert (
            page.count(".history > li") == 3
            and "checked in r9" in page.text(".history")
            and "bo" in page.text(".history")
        )
        page.open(f"{site.base}{PAGES['case']}")
        assert "approved" in page.text(".packages") and "<b>run r8</b>" in page.evaluate(
            "document.querySelector('.json').textContent"
        )
        page.open(f"{site.base}/sources")
        assert "1 missing" in page.text(".summary") and "1 changed" in page.text(".summary")
        assert page.text("tbody tr th") == "notes/gone.md", "what needs a look comes first"
        assert ".env" in page.text("section[aria-labelledby='left-out']")
        page.open(f"{site.base}/audit")
        with page.navigation():
            page.click("a.button")
        assert page.text(".verdict h2").startswith("Verified: ")
        with page.navigation():
            page.click(".filter a[href*='memory_published']")
        assert page.count("tbody tr") == 1


def test_hostile_texts_do_nothing(browser: Browser, site: Site) -> None:
    """What a file says is shown as its letters: no script, mark-up, style, direction or request comes of it."""
    with browser.page() as page:
        enter(page, site)
        page.open(f"{site.base}{PAGES['hostile']}")
        text = page.text(".evidence")
        assert "<script>document.title" in text and "{{ 7*7 }}" in text and "</article><h1" in text
        assert page.evaluate("document.title").startswith("Search: Hostile")
        assert page.count("#evidence") == page.count("h1") == 1
        assert page.count("main script, main img, main style, main iframe, main a[href*='evil']") == 0
        assert {"U+202E", "U+202C", "U+200B", "U+E0041"} <= set(
            page.evaluate(f"[...document.querySelectorAll('.hidden')].map({TEXT_OF})")
        )
        assert (
            page.evaluate("[...document.querySelector('.evidence').innerText].filter(c => c === '\\u202e').length") == 0
        )
        assert page.complaints() == []
        assert all(address.startswith(site.base) for address in page.requests())
        page.open(f"{site.base}/?q=" + "%3Cscript%3Ealert(1)%3C/script%3E%22%3E%E2%80%AE")
        assert page.count("script") == 0 and "U+202E" in page.evaluate("document.title")


def test_a_long_line_stays_inside(browser: Browser, site: Site) -> None:
    """3,000 letters without a space don't widen the page, and what the excerpt leaves out is counted."""
    with browser.page(width=390) as page:
        enter(page, site)
        page.open(f"{site.base}/?q=warmup+end+Long")
        wide = "[...document.querySelectorAll('main *')].filter(e => e.getBoundingClientRect().right > innerWidth + 1)"
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), page.evaluate(
            f"{wide}.map(e => e.outerHTML)"
        )
        assert "more characters" in page.evaluate("document.querySelector('.evidence').textContent")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_accessibility(browser: Browser, site: Site, dark: bool) -> None:
    """axe-core finds nothing on any page: WCAG 2 A and AA and its best practices, and the contrast in dark colours too."""
    rules, least = ("{runOnly: ['color-contrast']}", 1) if dark else ("{}", 16)
    with browser.page(dark=dark) as page:
        enter(page, site)
        for name, path in PAGES.items():
            page.open(f"{site.base}{path}")
            page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true })")
            page.evaluate(axe() + "; true")
            passes, found = page.evaluate(
                f"axe.run({rules}).then(r => [r.passes.length, r.violations.map("
                "v => [v.id, v.impact, v.nodes.slice(0, 3).map(n => n.html.slice(0, 200))])])"
            )
            assert found == [] and passes >= least, name
            assert page.evaluate("document.title").endswith(" · arr") and page.count("main h1") == 1


def test_colours_follow_the_system_and_the_switch(browser: Browser, site: Site) -> None:
    """Dark where the system is dark, until light is chosen."""
    with browser.page(dark=True) as page:
        enter(page, site)
        shade = "getComputedStyle(document.body).backgroundColor"
        dark = page.evaluate(shade)
        with page.navigation():
            page.click("footer a[href*='theme=light']")
        light = page.evaluate(shade)
        assert sum(map(int, light[4:-1].split(","))) > 700 > 100 > sum(map(int, dark[4:-1].split(",")))


class Evil(http.server.BaseHTTPRequestHandler):
    """A page of another origin that tries to look into the inspector."""

    page = ""

    def do_GET(self) -> None:
        """The page."""
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(Evil.page.encode())

    def log_message(self, format: str, *args: object) -> None:
        """Silent."""


def test_pages_of_other_origins_see_nothing(browser: Browser, site: Site) -> None:
    """With the pass in the browser: a page of another port can't read, frame, or make it search; a rebound name neither.

    A link there to the printed address works: whoever has that has the token.
    """
    Evil.page = f"""<!doctype html><title>evil</title><img src="{site.base}/?q=warmup"><iframe src="{site.base}/"></iframe>
        <script>window.got = fetch("{site.base}/?q=warmup", {{credentials: "include"}}).then(r => r.text(), e => "refused");
        window.blind = fetch("{site.base}/?q=warmup", {{credentials: "include", mode: "no-cors"}}).then(r => r.type);</script>
        <a href="{site.entry}">in</a>"""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Evil) as server, browser.page() as page:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            enter(page, site)
            port = server.server_address[1]
            page.open(f"http://127.0.0.1:{port}/")
            assert page.evaluate("got") == "refused"
            page.evaluate("blind.catch(() => 'refused')")
            asked = {
                event["params"]["requestId"] for event in browser.events if event["method"] == "Network.requestWillBeSent"
                and event["params"]["request"]["url"].startswith(site.base)
            }  # fmt: skip
            answers = [
                event["params"]["statusCode"] for event in browser.events
                if event["method"] == "Network.responseReceivedExtraInfo" and event["params"]["requestId"] in asked
            ]  # fmt: skip
            assert len(answers) >= 3 and set(answers) == {403}, answers
            assert page.open(f"http://rebound.test:{site.port}/") == 421
            page.open(f"http://evil.test:{port}/")
            with page.navigation():
                page.click("a")
            arrive(page, site)
        finally:
            server.shutdown()
            thread.join()
