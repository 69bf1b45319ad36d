"""The browser of the tests is one: it renders, clicks, types, keeps cookies apart and reaches no other machine."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser import Browser, find_browser

PAGE = """<!doctype html><html lang=en><title>t</title><style>p{color:light-dark(#111,#eee)}</style>
<p>Hello, 世界</p><a href="/two">next</a><form action="/form"><input name=q autofocus></form>
<script>document.title = "ran"</script>"""


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers everything with one page, and says what was asked in its title."""

    def do_GET(self) -> None:
        """One page."""
        self.send_response(200 if self.path != "/missing" else 404)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("X-Language", self.headers.get("Accept-Language", ""))
        self.end_headers()
        language = self.headers.get("Accept-Language", "")
        self.wfile.write(f"{PAGE}<footer>{self.path} {language} {self.headers['Host']}</footer>".encode())

    def log_message(self, format: str, *args: object) -> None:
        """Silent."""


@pytest.fixture(scope="module")
def site() -> Iterator[int]:
    """A small site on loopback; its port."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def browser(browser_path: str) -> Iterator[Browser]:
    """One browser for the module."""
    with Browser(browser_path, hosts=("rebound.test",)) as started:
        yield started


def test_it_opens_clicks_and_types(browser: Browser, site: int) -> None:
    """A page is opened and read; a click and a form lead to the next one."""
    with browser.page(language="zh-CN") as page:
        assert page.open(f"http://127.0.0.1:{site}/missing") == 404
        assert page.open(f"http://127.0.0.1:{site}/") == 200
        assert "Hello, 世界" in page.text() and "zh-CN" in page.text("footer")
        assert page.evaluate("document.title") == "ran"
        with page.navigation():
            page.click("a")
        assert page.url.endswith("/two")
        page.click("input")
        page.type("数据 é")
        with page.navigation():
            page.press("Enter")
        assert page.url.endswith("/form?q=%E6%95%B0%E6%8D%AE+%C3%A9")


def test_scripts_and_colours_are_as_asked(browser: Browser, site: int, tmp_path: Path) -> None:
    """Without scripts the page's own don't run; dark is dark; the screenshot is a PNG of the window's size."""
    with browser.page(scripts=False, dark=True, width=640, height=480) as page:
        page.open(f"http://127.0.0.1:{site}/")
        assert page.evaluate("document.title") == "t"
        assert page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches") is True
        picture = page.screenshot(tmp_path / "shot.png")
    assert picture[:8] == b"\x89PNG\r\n\x1a\n" == (tmp_path / "shot.png").read_bytes()[:8]
    assert (int.from_bytes(picture[16:20], "big"), int.from_bytes(picture[20:24], "big")) == (640, 480)


def test_it_reaches_this_machine_only(browser: Browser, site: int) -> None:
    """Another host does not resolve; a name that is mapped arrives here under that name."""
    with browser.page() as page:
        with pytest.raises(RuntimeError, match="ERR_NAME_NOT_RESOLVED"):
            page.open("http://example.org/")
        page.open(f"http://rebound.test:{site}/")
        assert f"rebound.test:{site}" in page.text("footer")


def test_a_named_browser_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """ARR_TEST_BROWSER wins over what is installed."""
    monkeypatch.setenv("ARR_TEST_BROWSER", "/opt/own/chrome")
    assert find_browser() == "/opt/own/chrome"
