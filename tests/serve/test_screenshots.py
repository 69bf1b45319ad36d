"""The pictures in docs/images are of the inspector as it is: three pages, light, dark and Chinese.

They are taken on every run and looked at by a program; with ARR_SCREENSHOTS=1 they are taken with real vectors (a minute)
and kept for people:  ARR_SCREENSHOTS=1 python -m pytest tests/serve/test_screenshots.py
"""

from __future__ import annotations

import os
import threading
import zlib
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
import uvicorn

from arr_sql.core.project import Project
from arr_sql.core.settings import ProjectTable, Settings
from arr_sql.demo import DemoProject
from arr_sql.serve.inspector import Inspector
from arr_sql.serve.server import bind
from tests.browser import Browser
from tests.docs.blocks import ROOT

IMAGES = ROOT / "docs" / "images"
KEEP = os.environ.get("ARR_SCREENSHOTS") == "1"
SIZE = (1180, 860)
MOST_BYTES = 150_000
ENGLISH, CHINESE = "What caused NCCL_ERR_4012 in r19, and what was changed afterwards?", "r17 的 NaN 是怎么来的？"
LOOKS = {"light": (False, "en"), "dark": (True, "en"), "zh": (False, "zh-CN")}


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """An inspector over the sample project, in this process: its address with the token, and a retrieval's id."""
    folder = tmp_path_factory.mktemp("pictures")
    with DemoProject(folder) as demo:
        demo.build()
        if KEEP:
            assert demo.embed() is None
        name, scope = next(iter(demo.scopes.items()))
        asked = [demo.of(name).search(query).retrieval_id for query in (CHINESE, ENGLISH)]
        settings = Settings(project=ProjectTable(team_id=scope.key.team_id, project_id=scope.key.project_id))
        project = Project(folder / name, settings, demo.database, scope.key, None, ())
    bound = bind(0)
    port = bound.getsockname()[1]
    app = Inspector(project).app(token="picture", port=port)
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="off", ws="none"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]})
    thread.start()
    yield f"http://127.0.0.1:{port}", asked[-1]
    server.should_exit = True
    thread.join()
    bound.close()


@pytest.mark.parametrize("look", LOOKS)
def test_pictures(look: str, address: tuple[str, str], browser_path: str, tmp_path: Path) -> None:
    """Search, a past retrieval and the verified audit log, each of the right size, light and not blank."""
    base, retrieval = address
    dark, language = LOOKS[look]
    query = CHINESE if look == "zh" else ENGLISH
    pages = {"search": f"/?q={quote(query)}", "retrieval": f"/retrieval?id={retrieval}", "audit": "/audit?verify=1"}
    with (
        Browser(browser_path) as browser,
        browser.page(dark=dark, language=language, width=SIZE[0], height=SIZE[1]) as page,
    ):
        page.open(f"{base}/?token=picture")
        page.wait_for("!!document.querySelector('main')")
        page.open(f"{base}{pages['search']}")  # loads the model
        for name, path in pages.items():
            assert page.open(f"{base}{path}") == 200
            if name == "retrieval":  # its end, with the timeline
                page.evaluate(
                    "document.querySelector('#how').scrollIntoView({block: 'center'}); document.activeElement.blur()"
                )
            page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
            data = page.screenshot((IMAGES if KEEP else tmp_path) / f"inspector-{name}-{look}.png")
            assert is_a_picture(data)  # its size depends on this machine's fonts


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("name", ["search", "retrieval", "audit"])
def test_kept_pictures(name: str, look: str) -> None:
    """Those of the documentation are there and small."""
    path = IMAGES / f"inspector-{name}-{look}.png"
    assert is_a_picture(path.read_bytes()) and path.stat().st_size < MOST_BYTES
    assert f"images/{path.name}" in (ROOT / "docs" / "inspector.md").read_text("utf-8")


def is_a_picture(data: bytes) -> bool:
    """A PNG of the window's size in which many lines differ from their neighbours."""
    size = int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")
    assert data[:8] == b"\x89PNG\r\n\x1a\n" and size == SIZE
    chunks, place = [], 8
    while place < len(data):
        length = int.from_bytes(data[place : place + 4], "big")
        if data[place + 4 : place + 8] == b"IDAT":
            chunks.append(data[place + 8 : place + 8 + length])
        place += 12 + length
    pixels = zlib.decompress(b"".join(chunks))
    width = len(pixels) // SIZE[1]
    return len({pixels[row * width : (row + 1) * width] for row in range(SIZE[1])}) > 100
