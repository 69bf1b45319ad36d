"""Per format, what is extracted and what is refused: the tables of docs/sources.md, from a run over small files.

Each file below is made here and goes through ``prepare`` as in ``arr add``. Held by tests/docs/test_formats.py.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[1]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from arr_sql.ingest import prepare as module  # noqa: E402
from arr_sql.ingest.prepare import NotTaken, Prepared, prepare  # noqa: E402
from tests.ingest.pdf_maker import make_pdf  # noqa: E402

BOOK = {
    "nbformat": 4, "nbformat_minor": 5, "metadata": {"kernelspec": {"language": "python", "name": "python3"}},
    "cells": [
        {"cell_type": "markdown", "metadata": {}, "source": "# Power cap\nTwo nodes."},
        {"cell_type": "code", "metadata": {}, "execution_count": 1, "source": "loss = run(cap=300)",
         "outputs": [{"output_type": "display_data", "metadata": {}, "data": {"image/png": "iVBORw0KGgo="}},
                     {"output_type": "stream", "name": "stdout", "text": "loss 0.71"}]},
    ],
}  # fmt: skip
PAGE = [("Crater Depths from Shadows", 72, 720, 20), ("We measure depths from the length of shadows.", 72, 680, 11)]

TAKEN: dict[str, bytes] = {
    "note.md": b"---\ntitle: Warmup\nauthors: [Ana Diaz]\nyear: 2024\n---\n# Warmup\n\nTwo thousand steps.\n\n## Risk\n\nNone seen so far in four runs.\n",
    "paper.pdf": make_pdf([PAGE, [("The second page has more to say on depth.", 72, 700, 11)]], info={"Author": "Ana Diaz"}),
    "run.ipynb": json.dumps(BOOK).encode(),
    "thesis.tex": b"\\title{Regolith}\\author{Kofi Osei}\n\\begin{document}\n\\section{Method}\nWe anneal twice, at $T=300$.\n\\input{results}\n\\end{document}\n",
    "refs.bib": b"@article{osei2019, title={Regolith in {\\'E}tretat}, author={Osei, Kofi}, year={2019}, doi={10.1/x}}\n@book{torn, title={No end\n",
    "refs.ris": b"TY  - JOUR\nTI  - Regolith\nAU  - Osei, Kofi\nPY  - 2019\nER  - \n",
    "page.html": b"<title>Talk</title><nav>menu</nav><h1>Drift</h1><p>It drifts by noon.</p><script>x()</script>",
    "runs.csv": b"step,loss\n1,0.9\n2,0.7\n",
    "runs.jsonl": b'{"step": 1, "loss": 0.9}\n{"step": 2, "loss": 0.7}\n',
    "train.py": b'"""Training."""\n\n\nclass Trainer:\n    """Trains."""\n\n    def step(self, batch):\n        """One step over a batch of samples."""\n        return self.model(batch)\n',
    "train.rs": b"/// Trains.\nfn step(batch: &Batch) -> f32 {\n    batch.loss()\n}\n",
    "settings.yaml": b"model:\n  layers: 12\noptimizer:\n  lr: 0.001\n",
    "train.log": b"10:00 start\nTraceback (most recent call last):\n  File \"t.py\", line 3\nValueError: norm\n",
    "notes.txt (GBK, CRLF)": "会议纪要\r\n数据库检索测试的结果见附件。\r\n".encode("gbk"),
    "notes.txt (UTF-16)": "run 12 diverged\r\n".encode("utf-16"),
    "keys.ini": b"[main]\nregion = lunar\npassword = hunter2-plum-77x\n",
}  # fmt: skip
REFUSED: dict[str, bytes] = {
    "locked.pdf": make_pdf([PAGE], password="moon"),
    "scan.pdf": make_pdf([[]]),
    "torn.pdf": make_pdf([PAGE])[:180],
    "login.pdf": b"<!doctype html><title>403</title>",
    "void.pdf": b"",
    "void.ipynb": b"",
    "torn.ipynb": json.dumps(BOOK).encode()[:120],
    "photo.txt": b"\x89PNG\r\n\x1a\n" + bytes(40),
    "model.md": bytes(range(256)) * 8,
    "murmur.txt": bytes([0xE9, 0x20, 0xFF, 0x20, 0xA7, 0x41, 0xD0]),
    "letter.docx": b"PK\x03\x04",
}
"""Each is refused by its own content."""
BY_CIRCUMSTANCE = ("paper.pdf without the extra", "note.md where the reader raises")


def _name(label: str) -> str:
    return label.split(" ")[0]


def taken() -> dict[str, Prepared]:
    """What becomes of each file that is taken in."""
    found = {}
    for label, data in TAKEN.items():
        result = prepare(_name(label), data, 0)
        assert isinstance(result, Prepared), (label, result)
        found[label] = result
    return found


def refused() -> dict[str, NotTaken]:
    """Why each of the others is not."""
    found = {}
    for label, data in REFUSED.items():
        result = prepare(_name(label), data, 0)
        assert isinstance(result, NotTaken), label
        found[label] = result
    with mock.patch("arr_sql.ingest.readers.pdf_reader.has_pdfium", lambda: False):
        result = prepare("paper.pdf", TAKEN["paper.pdf"], 0)
        assert isinstance(result, NotTaken)
        found[BY_CIRCUMSTANCE[0]] = result
    reader = module.reader_for("note.md")
    with mock.patch.object(type(reader), "read", side_effect=ValueError("made")):
        result = prepare("note.md", TAKEN["note.md"], 0)
        assert isinstance(result, NotTaken)
        found[BY_CIRCUMSTANCE[1]] = result
    return found


def taken_table() -> str:
    """One row a file: reader, encoding, how it is cut and named, what is known of it, what is said about it."""
    rows = ["| file | reader | cut into | known of it | said about it |", "|---|---|---|---|---|"]
    for label, item in taken().items():
        cuts = [f"`{c.chunk.locator}`{f' under *{c.chunk.heading}*' if c.chunk.heading else ''}" for c in item.chunks]
        known = [f"{name} {_value(value)}" for name, value in item.metadata.items() if name in SHOWN and value]
        if item.encoding not in ("utf-8", "bytes"):
            known.insert(0, f"{item.encoding} at {item.confidence:.2f}")
        said = [*item.warnings, *([f"{item.lines_withheld} line withheld"] if item.lines_withheld else [])]
        rows.append(
            f"| {label} | {item.reader} | {_cell('; '.join(cuts))} | {_cell('; '.join(known))} | {_cell('; '.join(said))} |"
        )
    return "\n".join(rows) + "\n"


SHOWN = ("title", "authors", "year", "doi", "language", "venue", "includes", "inputs", "pages", "columns")


def _value(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def refused_table() -> str:
    """One row a file: the code and what it says besides."""
    rows = ["| file | code | detail |", "|---|---|---|"]
    rows += [f"| {label} | `{item.reason}` | {_cell(item.detail)} |" for label, item in refused().items()]
    return "\n".join(rows) + "\n"


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())
