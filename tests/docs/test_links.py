"""Links lead somewhere, and the pages and comments speak of the project alone."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path

import pytest

from tests.docs.blocks import ROOT

PAGES = [ROOT / "README.md", ROOT / "README.zh-CN.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
# Words of a workplace, not of the project. "session" alone is also onnxruntime's and pytest's own word in code.
BANNED = {
    "text": re.compile(r"(?<![\w.])/work\b|\bshared/|\bsandbox|\bsessions?\b", re.IGNORECASE),
    "code": re.compile(r"(?<![\w.])/work\b|\bshared/|\bsandbox", re.IGNORECASE),
}
CODE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")


def prose(path: Path) -> str:
    """A page without its fenced blocks."""
    return CODE.sub("", path.read_text("utf-8"))


def anchors(path: Path) -> set[str]:
    """The anchors that GitHub makes of a page's headings."""
    found: set[str] = set()
    for heading in re.findall(r"^#{1,6} +(.+)$", prose(path), re.MULTILINE):
        kept = "".join(c for c in heading.lower() if c in " -_" or unicodedata.category(c)[0] in "LNM")
        name, number = kept.replace(" ", "-"), 0
        while (name if not number else f"{name}-{number}") in found:
            number += 1
        found.add(name if not number else f"{name}-{number}")
    return found


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_relative_links_resolve(path: Path) -> None:
    """Every relative link names a file that is there and, after ``#``, a heading that it has."""
    for link in LINK.findall(prose(path)):
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        target = (path.parent / name).resolve() if name else path
        assert target.exists(), f"{path.name}: {link}"
        assert ROOT in (target, *target.parents), f"{path.name}: {link} leaves the repository"
        if anchor:
            assert anchor in anchors(target), f"{path.name}: {link}"


def test_every_page_is_reachable() -> None:
    """docs/README.md links every page of docs/."""
    index = (ROOT / "docs" / "README.md").read_text("utf-8")
    for path in (ROOT / "docs").rglob("*.md"):
        name = path.relative_to(ROOT / "docs").as_posix()
        assert name == "README.md" or f"({name})" in index, f"docs/README.md does not link {name}"


def test_every_page_is_in_the_site() -> None:
    """mkdocs.yml, whose strict build .ci/run makes, names every page of docs/ once."""
    nav = (ROOT / "mkdocs.yml").read_text("utf-8").partition("\nnav:\n")[2]
    named = re.findall(r"^ +- ([\w/.-]+\.md)$", nav, re.MULTILINE)
    assert sorted(named) == sorted(path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md"))


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_pages_speak_of_the_project_alone(path: Path) -> None:
    """No page names a path of a machine or the way it was made."""
    assert BANNED["text"].findall(path.read_text("utf-8")) == []


def test_code_speaks_of_the_project_alone() -> None:
    """No source file, statement or migration does either."""
    files = [
        *(p for p in (ROOT / "arr_sql").rglob("*.py") if "project" not in p.parts),
        *(ROOT / "arr_sql" / "sql").glob("*.sql"), *(ROOT / "migrations").glob("*.sql"), *(ROOT / "benchmarks").rglob("*.py"),
    ]  # fmt: skip
    assert len(files) > 100
    for path in files:
        found = BANNED["code"].findall(path.read_text("utf-8"))
        assert not found, f"{path.relative_to(ROOT)}: {found}"


# Pages that the code names and that are still to be written. Empty this.
PENDING: set[str] = set()


def test_pages_that_the_code_names_are_there() -> None:
    """A message or docstring that points at a page points at one that exists."""
    named: set[str] = set()
    for path in [*(ROOT / "arr_sql").rglob("*.py"), *(ROOT / "arr_sql" / "sql").glob("*.sql")]:
        if "project" not in path.parts:
            named |= set(re.findall(r"docs/[a-z-]+\.md", path.read_text("utf-8")))
    assert {name for name in named if not (ROOT / name).exists()} <= PENDING
    assert not any((ROOT / name).exists() for name in PENDING), "take the written page out of PENDING"


def test_banned_words_are_found() -> None:
    """The check can fail."""
    assert BANNED["text"].search("see /work/x") and BANNED["text"].search("in this session")
    assert not BANNED["text"].search("a work tree, framework/x, possession")
