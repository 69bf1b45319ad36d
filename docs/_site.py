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


def copied(path: str, text: str) -> str:
    """A page from the repository's top as it stands in the site: links into docs/ lead there, links to folders nowhere."""

    def turn(match: re.Match[str]) -> str:
        target = posixpath.normpath(match.group(3))
        if (ROOT / target).is_dir():
            return match.group(1)
        moved = posixpath.relpath(target.removeprefix("docs/"), FOLDER) if target.startswith("docs/") else target
        return f"[{match.group(1)}]({moved}{match.group(4) or ''})"

    return OWN_LINK.sub(turn, text) if path.endswith(".md") else text


def on_files(files: Any, config: Any) -> Any:
    """Add every file outside docs/ that a page links to, and what those pages link to themselves."""
    from mkdocs.structure.files import File, InclusionLevel

    wanted = set(PAGES)
    for file in files.documentation_pages():
        text = Path(file.abs_src_path).read_text("utf-8")
        wanted |= {path for _, link, _, _ in LINK.findall(text) if (path := outside(file.src_uri, link))}
    for name in PAGES:
        wanted |= {link for _, _, link, _ in OWN_LINK.findall((ROOT / name).read_text("utf-8")) if "docs/" not in link}
    for path in sorted(path for path in wanted if (ROOT / path).is_file()):
        content = copied(path, (ROOT / path).read_text("utf-8"))
        inclusion = InclusionLevel.NOT_IN_NAV
        files.append(File.generated(config, f"{FOLDER}/{path}", content=content, inclusion=inclusion))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Turn the links."""
    source = page.file.src_uri
    return markdown if source.startswith(f"{FOLDER}/") else turned(source, markdown)
