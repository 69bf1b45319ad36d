"""The site's own parts: links that leave docs/ are turned, and the checker of the built site can fail.

The site itself is built and checked by .ci/run, in an environment that has mkdocs (group `docs`).
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.docs.blocks import ROOT


def module(path: Path) -> ModuleType:
    """A module that is in no package."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = made
    spec.loader.exec_module(made)
    return made


SITE = module(ROOT / "docs" / "_site.py")
CHECK = module(ROOT / ".ci" / "check_site.py")


@pytest.mark.parametrize(
    ("page", "link", "expected"),
    [("a.md", "b.md", None), ("zh/a.md", "../b.md", None), ("a.md", "../README.md", "README.md"), ("zh/a.md", "../../x/y.sql", "x/y.sql"),
     ("a.md", "../../outside", None), ("zh/a.md", "b.md", None), ("a.md", "../docs/b.md", None)],
)  # fmt: skip
def test_which_links_leave(page: str, link: str, expected: str | None) -> None:
    """By path alone."""
    assert SITE.outside(page, link) == expected


def test_links_are_turned() -> None:
    """To the copies in the site, from every depth, with their anchors; others stay."""
    turned = "[r](repository/README.md#x) [b](b.md) [w](https://example.org) [a](#a)"
    assert SITE.turned("a.md", "[r](../README.md#x) [b](b.md) [w](https://example.org) [a](#a)") == turned
    assert SITE.turned("zh/a.md", "[r](../../README.zh-CN.md)") == "[r](../repository/README.zh-CN.md)"
    text = "[t](docs/tutorial.md#3) [f](arr_sql) [l](LICENSE) [w](https://example.org) ![p](docs/images/x.png)"
    copied, wanted = SITE.copied("README.md", text)
    assert copied == "[t](../tutorial.md#3) f [l](LICENSE) [w](https://example.org) !p"
    assert wanted == {"LICENSE"}
    assert SITE.copied("arr_sql/x.md", "[r](../README.md)") == ("[r](../README.md)", {"README.md"})


def test_the_checker_finds_what_is_broken(tmp_path: Path) -> None:
    """A missing page, a missing anchor, a missing picture, and what is loaded from elsewhere; a link to elsewhere is fine."""
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "index.html").write_text("<h1 id=here>B</h1><a href='../'>up</a>", "utf-8")
    good = "<a href='b/'>b</a><a href='b/#here'>b</a><a href='https://example.org/'>w</a><a href='#top' id=top>t</a>"
    (tmp_path / "index.html").write_text(good, "utf-8")
    assert CHECK.broken(tmp_path) == []
    bad = "<a href='c/'>c</a><a href='b/#gone'>b</a><img src='x.png'><script src='https://cdn.test/x.js'></script>"
    (tmp_path / "index.html").write_text(bad, "utf-8")
    assert CHECK.broken(tmp_path) == [
        "index.html: c/", "index.html: b/#gone", "index.html: x.png", "index.html: loads https://cdn.test/x.js",
    ]  # fmt: skip
