"""Hooks of the site (mkdocs.yml): files outside docs/ that pages link to become part of it.

A page says ``../README.md`` or ``../arr_sql/sql/read_chunk.sql``, which is right on a code host. In the site those files
are at ``repository/...``, and the links are turned there, so that no link leaves the site and none is broken.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
LINK = re.compile(r"(\]\()(?!\w+:|#|/)([^)\s#]+)(#[^)\s]*)?(\))")
OWN_LINK = re.compile(r"\[([^\]]*)\](\()(?!\w+:|#|/)([^)\s#]+)(#[^)\s]*)?\)")
FOLDER = "repository"
PAGES = ("README.md", "README.zh-CN.md", "CHANGELOG.md")


def outside(page: str, target: str) -> str | None:
    """The path from the repository's top of a link that leaves docs/; None for one that stays. Pure."""
    path = posixpath.normpath(posixpath.join("docs", posixpath.dirname(page), target))
    return None if path == "docs" or path.startswith(("docs/", "../")) else path


def turned(page: str, markdown: str) -> str:
    """``markdown`` of a page with its outside links turned to the site's copies."""
    here = posixpath.dirname(page) or "."

    def turn(match: re.Match[str]) -> str:
        path = outside(page, match.group(2))
        if path is None or (ROOT / path).is_dir():
            return match.group(0)
        return f"{match.group(1)}{posixpath.relpath(f'{FOLDER}/{path}', here)}{match.group(3) or ''}{match.group(4)}"

    return LINK.sub(turn, markdown)


def copied(path: str, text: str) -> tuple[str, set[str]]:
    """A page from outside docs/ as it stands in the site, and the files outside docs/ that it links to.

    Links into docs/ lead there, links to folders nowhere.
    """
    wanted: set[str] = set()

    def turn(match: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(path), match.group(3)))
        if not (ROOT / target).is_file():
            return match.group(1)
        place = target.removeprefix("docs/")
        if place == target:
            wanted.add(target)
            place = f"{FOLDER}/{target}"
        moved = posixpath.relpath(place, posixpath.dirname(f"{FOLDER}/{path}"))
        return f"[{match.group(1)}]({moved}{match.group(4) or ''})"

    return OWN_LINK.sub(turn, text), wanted


def on_files(files: Any, config: Any) -> Any:
    """Add every file outside docs/ that a page links to, and what those pages link to themselves."""
    from mkdocs.structure.files import File, InclusionLevel

    wanted, done = set(PAGES), set[str]()
    for file in files.documentation_pages():
        text = Path(file.abs_src_path).read_text("utf-8")
        wanted |= {path for _, link, _, _ in LINK.findall(text) if (path := outside(file.src_uri, link))}
    while left := sorted(path for path in wanted - done if (ROOT / path).is_file()):
        for path in left:
            place, inclusion = f"{FOLDER}/{path}", InclusionLevel.NOT_IN_NAV
            if path.endswith(".md"):
                content, more = copied(path, (ROOT / path).read_text("utf-8"))
                wanted |= more
                files.append(File.generated(config, place, content=content, inclusion=inclusion))
            else:
                files.append(File.generated(config, place, abs_src_path=str(ROOT / path), inclusion=inclusion))
        done |= set(left)
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Turn the links."""
    source = page.file.src_uri
    return markdown if source.startswith(f"{FOLDER}/") else turned(source, markdown)
