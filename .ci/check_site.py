"""Does every link, picture and anchor of a built site lead somewhere inside it, and is nothing fetched from elsewhere?

python .ci/check_site.py site
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {("img", "src"), ("script", "src"), ("link", "href"), ("source", "src"), ("iframe", "src")}
NOT_LOADED = {"canonical", "alternate", "next", "prev"}


class Page(HTMLParser):
    """The links of a page, whether each is loaded with it, and the anchors it has."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[tuple[str, bool]] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note ids, links and what is loaded."""
        values = {name: value or "" for name, value in attrs}
        self.anchors |= {values[name] for name in ("id", "name") if name in values}
        for name in ("href", "src"):
            if name in values:
                is_loaded = (tag, name) in LOADED and values.get("rel", "") not in NOT_LOADED
                self.links.append((values[name], is_loaded))


def broken(site: Path) -> list[str]:
    """One line for each link that leads nowhere or loads from elsewhere."""
    pages = {path: Page(path.read_text("utf-8")) for path in sorted(site.rglob("*.html"))}
    found: list[str] = []
    for path, page in pages.items():
        for link, is_loaded in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                if is_loaded:
                    found.append(f"{path.relative_to(site)}: loads {link}")
                continue
            base = site if parts.path.startswith("/") else path.parent
            target = (base / unquote(parts.path).lstrip("/")).resolve() if parts.path else path
            if target.is_dir():
                target = target / "index.html"
            anchors = pages[target].anchors if target in pages else None
            if not target.is_file() or (
                parts.fragment and anchors is not None and unquote(parts.fragment) not in anchors
            ):
                found.append(f"{path.relative_to(site)}: {link}")
    return found


if __name__ == "__main__":
    problems = broken(Path(sys.argv[1]).resolve())
    print("\n".join(problems) or f"{len(list(Path(sys.argv[1]).rglob('*.html')))} pages, no broken link")
    sys.exit(bool(problems))
