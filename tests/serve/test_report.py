"""``arr show ID --html FILE``: one page with everything in it, which nothing can be made to do anything."""

from __future__ import annotations

import base64
import hashlib
import html.parser
import re
from pathlib import Path

import pytest

from tests.browser import Browser
from tests.cli.support import arr
from tests.serve.running import retrieval_ids


class Tags(html.parser.HTMLParser):
    """Which elements and attributes a page has."""

    def __init__(self) -> None:
        super().__init__()
        self.names, self.attributes = set[str](), set[str]()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note them."""
        self.names.add(tag)
        self.attributes |= {name for name, _ in attrs}


@pytest.fixture(scope="module")
def report(inspected: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a retrieval that found the hostile file."""
    file = tmp_path_factory.mktemp("report") / "r.html"
    found = [i for i in retrieval_ids(inspected) if "hostile" in arr("show", i, "--json", cwd=inspected).out]
    ran = arr("show", found[0], "--html", str(file), cwd=inspected)
    assert ran.code == 0 and "send it only to those who may read them" in ran.err, ran
    return file


def test_it_needs_nothing_else(report: Path) -> None:
    """No address, no script, no picture; its style is the one whose hash its policy names."""
    text = report.read_text("utf-8")
    tags = Tags()
    tags.feed(text)
    assert not tags.names & {
        "script",
        "iframe",
        "object",
        "embed",
        "link",
        "img",
        "base",
        "form",
        "a",
        "video",
        "input",
    }
    assert not tags.attributes & {
        "src",
        "href",
        "action",
        "xlink:href",
        "srcset",
        "style",
        "onload",
        "onerror",
        "onclick",
    }
    (style,) = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    assert "@import" not in style and "url(" not in style
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy is not None
    assert policy.group(1).replace("&#39;", "'").split("; ")[:2] == [
        "default-src 'none'",
        f"style-src 'sha256-{digest}'",
    ]


def test_it_says_what_the_record_says(report: Path, inspected: Path) -> None:
    """Each item's place and hash, each channel's state, the record's hash and how to check it."""
    text = report.read_text("utf-8")
    identifier = re.search(r"arr replay ([\w-]+)", text)
    assert identifier is not None
    record = arr("show", identifier.group(1), "--json", cwd=inspected).json
    for item in record["evidence"]:
        assert item["content_hash"] in text and f"#{item['channels'][0]['rank']}</b>" in text
    assert record["record_hash"] in text and all(trace["tool_name"] in text for trace in record["traces"])


def test_an_existing_file_is_kept(report: Path, inspected: Path) -> None:
    """Unless it is to be replaced."""
    newest, before = retrieval_ids(inspected)[0], report.read_bytes()
    ran = arr("show", newest, "--html", str(report), cwd=inspected)
    assert (ran.code, report.read_bytes()) == (1, before) and "--force" in ran.err
    other = report.with_name("zh.html")
    assert arr("show", newest, "--html", str(other), "--lang", "zh", cwd=inspected).code == 0
    text = other.read_text("utf-8")
    assert '<html lang="zh-CN">' in text and "是怎样找到的" in text
    ran = arr("show", newest, "--html", str(other), "--force", "--json", cwd=inspected)
    assert ran.json["retrieval_id"] == newest and '<html lang="en">' in other.read_text("utf-8")


@pytest.mark.parametrize("item", ["r9-ffffffff", "memory:m-steps", "c" + "0" * 20])
def test_only_a_retrieval_is_reported(item: str, inspected: Path, tmp_path: Path) -> None:
    """Nothing is written for anything else."""
    ran = arr("show", item, "--html", str(tmp_path / "x.html"), cwd=inspected)
    assert ran.code == 1 and not (tmp_path / "x.html").exists()


def test_text_that_is_gone_is_said(copy_of: Path, tmp_path: Path) -> None:
    """A record outlives its texts: the page says which are gone."""
    newest = retrieval_ids(copy_of)[-1]
    assert arr("forget", "--source", "notes/warmup.md", "--yes", cwd=copy_of).code == 0
    ran = arr("show", newest, "--html", str(tmp_path / "x.html"), cwd=copy_of)
    assert ran.code == 0 and "no longer has the text" in ran.out
    text = (tmp_path / "x.html").read_text("utf-8")
    assert "The store no longer has this text" in text and "NAN_LOSS_17 at step" not in text


def test_it_opens_from_the_disk(report: Path, browser_path: str) -> None:
    """In a browser, as a file: shown in full, nothing run, nothing asked for, nothing refused."""
    with Browser(browser_path) as browser, browser.page(dark=True) as page:
        page.open(report.as_uri())
        assert page.count("article") > 0 and page.count("table.timeline tbody tr") == 4
        assert page.evaluate("document.title").startswith("Report of retrieval r")
        assert "<script>document.title" in page.evaluate("document.querySelector('ol').textContent")
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(19, 21, 24)"
        assert page.requests() == [report.as_uri()] and page.complaints() == []
