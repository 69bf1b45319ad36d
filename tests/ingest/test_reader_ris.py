"""RIS: one piece an entry, slips named, everything kept."""

from __future__ import annotations

from arr_sql.ingest.readers.ris import RisReader

TEXT = """TY  - JOUR
AU  - Müller, Jörg
AU  - 王小明
TI  - Evidence in Files
JO  - Journal of Tests
PY  - 2019/05/01/
DO  - https://doi.org/10.1000/ABC.1
UR  - https://arxiv.org/abs/1901.00001v3
ID  - muller2019
AB  - A long
 abstract that goes on.
KW  - retrieval
ER  -

stray note
TY  - CONF
T1  - Not closed
TY  - BOOK
AU  - No Title
ER  -
N1  - belongs nowhere
"""


def test_entries_and_slips() -> None:
    """An entry that isn't closed ends where the next begins; fields outside and a missing title are named."""
    result = RisReader().read(TEXT, "a.ris")
    assert [(piece.start_line, piece.end_line, piece.name) for piece in result.pieces] == [
        (1, 13, "muller2019"),
        (14, 15, ""),
        (16, 17, ""),
        (18, 20, ""),
        (21, 21, ""),
    ]
    first = result.pieces[0]
    for word in (
        "Evidence in Files",
        "Müller, Jörg",
        "王小明",
        "Journal of Tests",
        "2019",
        "10.1000/abc.1",
        "1901.00001",
        "retrieval",
    ):
        assert word in first.heading
    assert result.warnings == (
        "ris_unclosed: line 16",
        "ris_broken: line 18: no title",
        "ris_outside: line 21: 1 fields belong to no entry",
    )
    assert [piece.heading for piece in result.pieces if piece.kind == "entry"][1:] == ["Not closed", "No Title"]


def test_metadata_people_cite_by() -> None:
    """One entry gives the file's fields; several are listed."""
    result = RisReader().read(TEXT, "a.ris")
    expected = {
        "title": "Evidence in Files", "authors": ["Müller, Jörg", "王小明"], "year": 2019, "doi": "10.1000/abc.1",
        "arxiv_id": "1901.00001", "venue": "Journal of Tests",
    }  # fmt: skip
    assert result.metadata == {
        "entries": 3, "references": [{"key": "muller2019", **expected}, {"title": "Not closed"}, {"authors": ["No Title"]}],
    }  # fmt: skip
    alone = RisReader().read(TEXT.partition("stray")[0], "a.ris")
    assert alone.metadata == {"entries": 1, **expected} and alone.warnings == ()
