"""The example of docs/readers.md, installed as a package would be, and the table there."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

from arr_sql.ingest.readers import UNREADABLE

PAGE = (Path(__file__).parents[2] / "docs" / "readers.md").read_text(encoding="utf-8")

RUN = """
import json, sys
sys.path.insert(0, sys.argv[1])
from arr_sql.ingest.prepare import prepare
from arr_sql.ingest.readers import reader_warnings
found = prepare("week1.lab", b"intro\\n== melting point ==\\n42 degrees\\n", 0)
token = "ghp_" + "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xY1zA2"
held = prepare("week2.lab", f"== keys ==\\ntoken = {token}\\nplain".encode(), 0)
print(json.dumps({
    "reader": [found.reader, found.reader_version, found.title],
    "chunks": [[item.chunk.locator, item.chunk.heading, item.chunk.text] for item in found.chunks],
    "withheld": held.lines_withheld,
    "warnings": list(reader_warnings()),
}))
"""


def example(name: str) -> str:
    match = re.search(rf"<!-- example: {name} -->\n```\w+\n(.*?)```", PAGE, re.DOTALL)
    assert match is not None
    return match[1]


def test_the_example_works_when_installed(tmp_path: Path) -> None:
    """A module and its entry point on the path are enough: the file is read, cut and named, credentials withheld."""
    (tmp_path / "lab_notes.py").write_text(example("reader"), encoding="utf-8")
    group, line = example("entry point").strip().split("\n")
    assert group == '[project.entry-points."arr_sql.readers"]'
    info = tmp_path / "lab_notes-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: lab-notes\nVersion: 1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text("[arr_sql.readers]\n" + line.replace('"', "") + "\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", RUN, str(tmp_path)], capture_output=True, text=True, encoding="utf-8", check=True
    )
    assert json.loads(done.stdout) == {
        "reader": ["lab", "1", "melting point"],
        "chunks": [["1-3 melting point", "melting point", "intro\n== melting point ==\n42 degrees"]],
        "withheld": 1,
        "warnings": [],
    }


def test_every_reason_is_on_the_page() -> None:
    """The table is the closed set, in order, word for word."""
    rows = re.findall(r"^\| `([a-z_]+)` \| (.*) \|$", PAGE.partition("## When a file can't be read")[2], re.MULTILINE)
    assert dict(rows) == dict(UNREADABLE)
