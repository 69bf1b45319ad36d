"""The HTML report: whole in one file, and read in a real browser, with and without scripts, light and dark."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from arr_sql.database.evaluating import EvaluationStore
from arr_sql.evaluation.gold import load_gold
from arr_sql.evaluation.report import html_page, tables
from arr_sql.evaluation.research_eval import Run, evaluate
from arr_sql.evaluation.svg import bars, curves
from tests.browser import Browser
from tests.conftest import FakeEmbedder
from tests.evaluation.gold_maker import write_folder


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run of the small set."""
    folder = tmp_path_factory.mktemp("report")
    gold = load_gold(write_folder(folder / "small"))
    with EvaluationStore(folder / "kept", gold, embedder=FakeEmbedder) as store:
        store.build()
        return evaluate(gold, store)


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """Nothing."""


@pytest.fixture(scope="module")
def address(run: Run, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where the page can be opened."""
    folder = tmp_path_factory.mktemp("page")
    (folder / "report.html").write_text(html_page(run.data), encoding="utf-8")
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/report.html"
        server.shutdown()


def test_the_page_is_one_file_and_holds_no_query(run: Run, tmp_path: Path) -> None:
    """No link, script or picture of another place; text is escaped; no topic's words."""
    page = html_page(run.data)
    assert not re.search(r"<script|<link|<img|src=|href=|url\(|@import", page)
    assert page.count("https://") == 0 and set(re.findall(r"http://[^'\"]+", page)) == {"http://www.w3.org/2000/svg"}
    for topic in load_gold(write_folder(tmp_path / "small")).topics:
        assert topic.query not in page
    hostile = {**run.data, "gold": {**run.data["gold"], "name": "<script>alert(1)</script>"}}
    assert "<script>" not in html_page(hostile)


def test_plots_are_sound_svg() -> None:
    """Well-formed, with a title for those who can't see them, bars as long as their values."""
    svg = bars("nDCG & more", [("bm25", 0.5, (0.4, 0.6)), ("<both>", 1.0, (1.0, 1.0))], "<both>")
    tree = ElementTree.fromstring(svg)
    space = "{http://www.w3.org/2000/svg}"
    assert tree.findtext(f"{space}title") == "nDCG & more" and tree.get("role") == "img"
    widths = [float(rect.get("width", "0")) for rect in tree.iter(f"{space}rect")]
    assert widths[1] == pytest.approx(2 * widths[0])
    lines = curves("Recall", [("bm25", [(1, 0.0), (10, 0.5), (100, 1.0)]), ("none", [])])
    first = next(path.get("d", "") for path in ElementTree.fromstring(lines).iter(f"{space}path"))
    places = [tuple(map(float, place.split())) for place in re.split("[ML]", first)[1:]]
    assert [x for x, _ in places] == sorted(x for x, _ in places)
    assert places[1][0] - places[0][0] == pytest.approx(places[2][0] - places[1][0], abs=0.2)  # logarithmic
    assert places[0][1] > places[1][1] > places[2][1]


def test_the_text_tables_name_every_class_and_mode(run: Run) -> None:
    """Also those without an answer."""
    found = {title: (columns, rows) for title, columns, rows in tables(run.data)}
    columns, rows = found["Classes: ndcg_at_10"]
    assert [row[0] for row in rows] == ["code_error", "exact_term", "lure", "memory", "no_answer"]
    assert columns[2:] == ["memory", *list(run.data["modes"])[1:]]
    assert rows[-1][-1] == "100% false"


@pytest.mark.parametrize("dark", [False, True])
def test_a_browser_shows_it_without_scripts(browser_path: str, address: str, dark: bool, run: Run) -> None:
    """Plots have a size, nothing overflows the window, the colours follow the reader, nothing is fetched or refused."""
    with Browser(browser_path) as browser, browser.page(dark=dark, scripts=False, width=900) as page:
        assert page.open(address) == 200
        assert page.text("h1") == "small 1"
        assert page.count("svg") == 2 and page.count("svg rect.bar") == len(run.data["modes"])
        sizes = page.evaluate(
            "[...document.querySelectorAll('svg')].map(e => [e.getBoundingClientRect().width, e.getBoundingClientRect().height])"
        )
        assert all(width > 300 and height > 100 for width, height in sizes)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
        shade = sum(map(int, re.findall(r"\d+", ground)[:3])) / 3
        assert shade < 64 if dark else shade > 192
        assert page.evaluate("getComputedStyle(document.querySelector('.bar.strong')).fill") != ground
        page.click("details summary")
        assert page.evaluate("document.querySelector('details').open")
        assert page.requests() == [address] or page.requests() == [
            address,
            address.replace("report.html", "favicon.ico"),
        ]
        assert [line for line in page.complaints() if "favicon" not in line] == []
