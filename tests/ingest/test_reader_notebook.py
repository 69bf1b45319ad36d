"""Notebooks: cells with their numbers, text of outputs within bounds, what is no text counted."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arr_sql.ingest.chunker import chunk
from arr_sql.ingest.prepare import NotTaken, Prepared, prepare
from arr_sql.ingest.readers import ReadResult, Unreadable
from arr_sql.ingest.readers.notebook import NotebookReader

BASE64 = "iVBORw0KGgoAAAANSUhEUgAA" * 12_500


def cell(kind: str, source: Any, outputs: Any = None, **more: Any) -> dict[str, Any]:
    return {
        "cell_type": kind,
        "metadata": {},
        "source": source,
        **({"outputs": outputs} if outputs is not None else {}),
        **more,
    }


def notebook(*cells: Any, **more: Any) -> bytes:
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": list(cells), **more}).encode()


def read(data: bytes) -> ReadResult:
    result = NotebookReader().read_bytes(data, "nb.ipynb")
    assert isinstance(result, ReadResult), result
    check(result)
    return result


def check(result: ReadResult) -> None:
    """Lines are numbered through the extracted text, without overlap."""
    end = 0
    for piece in result.pieces:
        assert end < piece.start_line <= piece.end_line
        assert piece.text.count("\n") == piece.end_line - piece.start_line
        assert piece.text.strip() and piece.locator.startswith("cell ")
        end = piece.end_line


def test_the_report() -> None:
    """Field report nb-01: sources with cell numbers; images and widgets out and counted; outputs bounded; no colours."""
    data = notebook(
        cell("markdown", "# Result"),
        cell(
            "code",
            ["alpha_fn(1)"],
            [
                {"output_type": "display_data", "data": {"image/png": BASE64, "text/plain": "<Figure size 640x480>"}},
                {"output_type": "stream", "name": "stdout", "text": "step of the loop\n" * 120_000},
                {"output_type": "error", "ename": "ValueError", "evalue": "bad beta",
                 "traceback": ["\x1b[0;31m---\x1b[0m", "\x1b[1;32min\x1b[0m line 3", "\x1b[0;31mValueError\x1b[0m: bad beta"]},
            ],
        ),
        metadata={"widgets": {"application/vnd.jupyter.widget-state+json": {"state": {"abc": {"value": "x" * 5000}}}}},
    )  # fmt: skip
    prepared = prepare("nb.ipynb", data, 0)
    assert isinstance(prepared, Prepared)
    texts = [(item.chunk.locator, item.chunk.heading, item.chunk.text) for item in prepared.chunks]
    assert texts[0] == ("cell 1", "Result", "# Result")
    assert texts[1][0] == "cell 2" and texts[1][1] == "Result" and texts[1][2].startswith("alpha_fn(1)\n<Figure")
    everything = "\n".join(text for _, _, text in texts)
    assert BASE64[100:112] not in everything and "widget" not in everything and "\x1b" not in everything
    assert "ValueError: bad beta" in everything and len(everything) < 20_000
    assert prepared.warnings == (
        "outputs_omitted: 1 image/png, 1 widget_state",
        f"output_cut: {17 * 120_000 - 8_000} characters of cells 2",
    )
    assert prepared.metadata["outputs_omitted"] == {"image/png": 1, "widget_state": 1}
    assert prepared.title == "Result"


def test_headings_lead_to_the_code_below() -> None:
    """A heading replaces those of its level; code and outputs stand under it; the locator is the cell."""
    result = read(
        notebook(
            cell("markdown", "# Study\n\nWords.\n\n## Data"),
            cell("code", "load()"),
            cell("markdown", "## Model\ntext"),
            cell("raw", "raw words"),
            cell("code", "", []),
            cell("code", "fit()", [{"output_type": "execute_result", "data": {"text/plain": ["0.", "93"]}}]),
        )
    )
    assert [(piece.locator, piece.heading, piece.text) for piece in result.pieces] == [
        ("cell 1", "Study", "# Study\n"),
        ("cell 1", "Study", "Words.\n"),
        ("cell 1", "Study > Data", "## Data"),
        ("cell 2", "Study > Data", "load()"),
        ("cell 3", "Study > Model", "## Model"),
        ("cell 3", "Study > Model", "text"),
        ("cell 4", "Study > Model", "raw words"),
        ("cell 6", "Study > Model", "fit()"),
        ("cell 6", "Study > Model", "0.93"),
    ]
    assert result.metadata["cells"] == 6 and result.metadata["code_cells"] == 3


def test_format_3() -> None:
    """Worksheets, ``input``, heading cells and outputs whose types are keys."""
    data = json.dumps(
        {
            "nbformat": 3,
            "metadata": {"name": "old"},
            "worksheets": [
                {
                    "cells": [
                        {"cell_type": "heading", "level": 2, "source": ["Old heading"]},
                        {"cell_type": "code", "input": ["print 1"], "language": "python",
                         "outputs": [{"output_type": "stream", "text": ["1\n"]},
                                     {"output_type": "pyout", "text": ["2"], "png": "AAAA"},
                                     {"output_type": "pyerr", "ename": "E", "evalue": "v", "traceback": []}]},
                    ]
                }
            ],
        }
    ).encode()  # fmt: skip
    result = read(data)
    assert [piece.text for piece in result.pieces] == ["## Old heading", "print 1", "1", "2", "E: v"]
    assert {piece.heading for piece in result.pieces} == {"Old heading"}
    assert result.metadata["outputs_omitted"] == {"image/png": 1}


def test_a_long_cell_has_names() -> None:
    """Functions of a long Python cell are found by name; magics don't hide them."""
    source = "%matplotlib inline\n" + "\n\n".join(
        f"def step_{index}(x):\n    return x + {index}" * 1 for index in range(60)
    )
    names = {piece.name for piece in read(notebook(cell("code", source))).pieces}
    assert {"step_0", "step_59"} <= names


def test_embedded_data_is_left_out_of_text_too() -> None:
    """An image pasted into Markdown or printed as base64 is counted; the words beside it stay."""
    result = read(
        notebook(
            cell(
                "markdown",
                f"before ![x](data:image/png;base64,{BASE64[:3000]}) after",
                attachments={"a.png": {"image/png": "AA"}},
            ),
            cell("code", "show()", [{"output_type": "stream", "text": f"start {BASE64[:4000]} end"}]),
        )
    )
    text = " ".join(piece.text for piece in result.pieces)
    assert "before" in text and "after" in text and "start" in text and "end" in text and BASE64[:50] not in text
    assert result.metadata["outputs_omitted"] == {"embedded_data": 2, "image/png": 1}


def test_a_progress_bar_is_its_last_state() -> None:
    """What a carriage return overwrote was never there to read."""
    output = {"output_type": "stream", "text": "  0%|    |\r 50%|##  |\r100%|####|\nloss 0.1\r\n"}
    assert read(notebook(cell("code", "run()", [output]))).pieces[1].text == "100%|####|\nloss 0.1"


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "empty"),
        (b" \n", "empty"),
        (notebook(cell("code", "x" * 500))[:300], "malformed"),
        (b"[1, 2]", "malformed"),
        (b'{"a": 1}', "malformed"),
        (b"[" * 200_000, "malformed"),
        (b'{"cells": [' + b"9" * 10_000 + b"]}", "malformed"),
        (b"\x89PNG\r\n\x1a\n", "malformed"),
        (b"<html></html>", "malformed"),
    ],
    ids=range(9),
)
def test_broken_notebooks_are_refused(data: bytes, code: str) -> None:
    """Half a download, another format, nesting and numbers without end: a code, no exception."""
    result = NotebookReader().read_bytes(data, "nb.ipynb")
    if isinstance(result, ReadResult):  # Python before 3.10.7 reads the number
        assert result.pieces == ()
    else:
        assert result.code == code


@pytest.mark.parametrize(
    "more",
    [
        {"metadata": None},
        {"metadata": {"kernelspec": "python3", "language_info": []}},
        {
            "metadata": {
                "kernelspec": {"name": 3},
                "language_info": {"name": None},
                "authors": [{"name": "A B"}, 4, "C D"],
            }
        },
        {"nbformat": "four"},
        {"nbformat": 99},
    ],
)
def test_odd_metadata_still_reads(more: dict[str, Any]) -> None:
    """Only the cells matter; cells that are none are named."""
    result = read(notebook(cell("code", "kept()"), None, 7, {"cell_type": 1, "source": {"a": 1}}, **more))
    assert [piece.text for piece in result.pieces] == ["kept()"]
    assert any(text.startswith("notebook_cells") for text in result.warnings)


def test_metadata_people_cite_by() -> None:
    """Title and authors of the notebook's metadata or front matter, DOI and arXiv id of the first words."""
    text = "# On Growth\n\nAfter [Lee](https://doi.org/10.5555/ABC.1), arXiv:2101.00001v2"
    result = read(
        notebook(cell("markdown", text), metadata={"authors": [{"name": "Ada L"}], "language_info": {"name": "Julia"}})
    )
    assert result.language == "julia" and result.title == "On Growth"
    assert dict(result.metadata) == {
        "title": "On Growth", "authors": ["Ada L"], "doi": "10.5555/abc.1", "arxiv_id": "2101.00001", "cells": 1, "code_cells": 0,
    }  # fmt: skip


def test_credentials_are_withheld_and_the_json_is_not_broken() -> None:
    """In sources and outputs, also a key over several lines; what SQLite can't hold is replaced."""
    token = "ghp_" + "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xY1zA2"
    key = "-----BEGIN RSA PRIVATE KEY-----\n" + "MIIEpAIBAAKCAQEA7u3v\n" * 3 + "-----END RSA PRIVATE KEY-----"
    data = notebook(
        cell("code", f"a = 1\ntoken = '{token}'\nb = 2", [{"output_type": "stream", "text": f"{key}\nended"}]),
        cell("markdown", "# lone \ud800 surrogate"),
    )
    prepared = prepare("nb.ipynb", data, 0)
    assert isinstance(prepared, Prepared)
    text = "\n".join(item.chunk.text for item in prepared.chunks)
    assert token not in text and "MIIE" not in text and "a = 1" in text and "b = 2" in text and "ended" in text
    assert prepared.lines_withheld == 6
    assert "lone \ufffd surrogate" in text
    assert prepare("nb.ipynb", data[:200], 0) == NotTaken("malformed", "not JSON from line 1 on")


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 9) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(
        st.sampled_from(
            ["cells", "worksheets", "cell_type", "source", "input", "outputs", "output_type", "data", "text", "traceback", "metadata",
             "text/plain", "text/html", "image/png", "level", "attachments", "authors", "name", "ename"]
        )
        | st.text(max_size=3),
        inner | st.sampled_from(["code", "markdown", "heading", "raw", "stream", "error", "display_data"]),
        max_size=5,
    ),
    max_leaves=25,
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(JSON_VALUES, JSON_VALUES)
def test_any_json_in_a_notebook_reads(cells: Any, more: Any) -> None:
    """Every part may be of any type."""
    tree = {"cells": cells if isinstance(cells, list) else [cells], "metadata": more}
    result = NotebookReader().read_bytes(json.dumps(tree).encode(), "nb.ipynb")
    assert isinstance(result, ReadResult)
    check(result)
    chunk(result)


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=100) | st.tuples(st.integers(0, 400), st.binary(max_size=5)))
def test_any_bytes_read_or_are_refused(change: Any) -> None:
    """Random bytes, and a sound notebook with bytes changed."""
    data = (
        change
        if isinstance(change, bytes)
        else (base := notebook(cell("code", "x"), cell("markdown", "# y")))[: change[0]] + change[1] + base[change[0] :]
    )
    assert isinstance(NotebookReader().read_bytes(data, "nb.ipynb"), (ReadResult, Unreadable))
