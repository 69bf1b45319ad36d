"""BibTeX: raw entries, decoded headings, recovery from slips."""

from __future__ import annotations

import time

import pytest

from arr_sql.ingest.readers.bibtex import BibtexReader, parse_bibtex
from arr_sql.ingest.readers.tex_text import decode_tex

REPORT = (
    '@string{jan = "January"}\n'
    '@article{k1, author={M{\\"u}ller, J{\\"o}rg and {\\\'E}tienne {\\O}rsted and \\v{S}imek, A.}, '
    "title={Notes on {RNA} Folding and {$\\beta$}-Sheet {{FFT}} methods}, "
    'journal = "A " # "B", month=jan, year=2020}\n'
    "% a comment line\nfree text between\n"
    "@misc(k5, title={paren style})\n"
)


def test_the_report() -> None:
    """Field report bib-01: names and title as people search them, key and lines kept, raw entry unchanged."""
    pieces = BibtexReader().read(REPORT, "a.bib").pieces
    assert [(piece.start_line, piece.end_line, piece.kind, piece.name) for piece in pieces] == [
        (1, 1, "text", ""),
        (2, 2, "entry", "k1"),
        (3, 4, "text", ""),
        (5, 5, "entry", "k5"),
    ]
    heading = pieces[1].heading
    assert heading.startswith("Notes on RNA Folding and β-Sheet FFT methods")
    for word in ("Müller, Jörg", "Étienne", "Ørsted", "Šimek", "January", "A B", "2020"):
        assert word in heading
    assert pieces[1].text == REPORT.split("\n")[1]
    assert "beta" in pieces[1].text
    assert pieces[3].heading == "paren style"


def test_an_unclosed_entry_costs_only_itself() -> None:
    """It ends where the next line begins an entry, with a warning that names its line."""
    result = BibtexReader().read(
        "@book{open, title={never closed,\n year=1999\n@book{next1,\n title={ok}\n}\n", "a.bib"
    )
    assert [piece.name for piece in result.pieces] == ["open", "next1"]
    assert result.warnings == ("bibtex_unclosed: line 1: open",)


def test_two_entries_on_one_line_share_a_piece() -> None:
    """Lines are never cut, so both keys are named."""
    (piece,) = BibtexReader().read("@misc{a, title={One}} @misc{b, title={Two}}\n", "a.bib").pieces
    assert (piece.name, piece.heading) == ("a, b", "One; Two")


def test_fields_are_joined_and_expanded() -> None:
    """Abbreviations, month names, concatenation; an @ inside a value starts nothing; a repeated field counts once."""
    (_, entry) = parse_bibtex(
        '@STRING(acm = {ACM Press})\n@Book{x, publisher = acm # ", " # may, note = {a @b{c} d}, note={no}}'
    )
    assert entry.fields == {"publisher": "ACM Press, May", "note": "a @b{c} d"}
    assert (entry.type, entry.key) == ("book", "x")


def test_broken_entries_are_named_and_the_rest_kept() -> None:
    """Each slip is a warning with line and key; every entry keeps what is sound in it."""
    text = """@article{good, title={Good One}, doi={10.1/x}}
@article{ title = {No Key Here} }
@article{comma, title = {First} author = {Ann Bee} year = 2001}
@book{junk, title = {Junky}, ???, year = {1999}}
@book{bare, title = , year = 2000}
@article{good, title={Second With The Key}}
@wrong{odd, title={Odd Type}}
@misc{empty}
@inbook{child, title={Child}, crossref={parent}}
@inbook{orphan, title={Orphan}, crossref={nowhere}}
@book{parent, title={Parent Book}, year=1990}
@article{open, title={Never closed
"""
    result = BibtexReader().read(text, "a.bib")
    assert result.warnings == (
        "bibtex_broken: line 2: no cite key",
        "bibtex_broken: line 3: comma: no comma before author",
        "bibtex_broken: line 3: comma: no comma before year",
        "bibtex_broken: line 4: junk: a part without a field name after title",
        "bibtex_broken: line 5: bare: no value for title",
        "bibtex_duplicate: line 6: good",
        "bibtex_type: line 7: odd: unknown type wrong",
        "bibtex_broken: line 8: empty: no fields",
        "bibtex_crossref: line 10: orphan: no entry nowhere",
        "bibtex_unclosed: line 12: open",
    )
    headings = [piece.heading for piece in result.pieces]
    assert headings[1:4] == ["No Key Here", "First — Ann Bee — 2001", "Junky — 1999"]
    assert headings[8] == "Child — Parent Book — 1990"
    assert len(result.pieces) == 12


def test_metadata_people_cite_by() -> None:
    """A file of one entry has its fields; a library lists its references by key."""
    one = """@article{vaswani2017, title={Attention {I}s All}, author={Vaswani, Ashish and J{\\"o}rg M},
  year={2017}, journal={NeurIPS}, doi={https://doi.org/10.5555/ABC}, eprint={1706.03762v5}, archivePrefix={arXiv}}"""
    expected = {
        "title": "Attention Is All", "authors": ["Vaswani, Ashish", "Jörg M"], "year": 2017, "doi": "10.5555/abc",
        "arxiv_id": "1706.03762", "venue": "NeurIPS",
    }  # fmt: skip
    assert BibtexReader().read(one, "a.bib").metadata == {"entries": 1, **expected}
    both = BibtexReader().read(one + "\n@misc{b, note={arXiv:2101.00001}, date={2021-02-03}}", "a.bib").metadata
    assert both == {
        "entries": 2,
        "references": [{"key": "vaswani2017", **expected}, {"key": "b", "year": 2021, "arxiv_id": "2101.00001"}],
    }


def test_words_that_only_tex_spells_are_found() -> None:
    """An abstract stays as it is; words that its accents and braces hide are in the heading."""
    text = '@misc{a, title={T}, abstract={A na{\\"\\i}ve {B}ayes test in M{\\"u}nchen, plain words}}'
    (piece,) = BibtexReader().read(text, "a.bib").pieces
    assert piece.heading == "T — naïve Bayes München" and piece.text == text


@pytest.mark.parametrize(
    ("tex", "plain"),
    [
        ('M{\\"u}ller', "Müller"),
        ("\\'{E}tienne", "Étienne"),
        ("{\\O}rsted", "Ørsted"),
        ("\\v{S}imek", "Šimek"),
        ("\\v Simek", "Šimek"),
        ("Stra{\\ss}e", "Straße"),
        ("\\c{c}a", "ça"),
        ('na\\"{\\i}ve', "naïve"),
        ("\\L{}\\'od\\'z", "Łódź"),
        ("{$\\beta$}-Sheet", "β-Sheet"),
        ("$\\varepsilon$", "ε"),
        ("R\\&D 50\\%", "R&D 50%"),
        ("pages 1--2", "pages 1–2"),
        ("a~b", "a b"),
        ("\\emph{word} x", "word x"),
        ("\\{set\\}", "{set}"),
        ("plain", "plain"),
        ("\\url{http://x.y/a_b}", "http://x.y/a_b"),
        ("\\\\", ""),
        ("\\", ""),
        ("\\textbf{\\'e}", "é"),
        ("H\\H{o}s", "Hős"),
    ],
)
def test_tex_letters(tex: str, plain: str) -> None:
    """TeX's letters become letters; braces and commands go."""
    assert decode_tex(tex) == plain


@pytest.mark.parametrize(
    "text",
    [
        "@article{osei2019, tPRIVATE KE" + "\n" * 100_000, "@a{k, x={y}, z " + "\n" * 100_000 + "}", "@a{k, x={y} z" + " " * 100_000,
        "@a{k," + "a = b c\n" * 30_000 + "}", "@a{k," + "\n," * 50_000 + "}", "@a{" * 50_000,
    ],
    ids=["empty lines", "empty lines inside", "spaces", "faulty fields", "commas", "openings"],
)  # fmt: skip
def test_damage_costs_linear_time(text: str) -> None:
    """Finds of benchmarks/fuzz_readers.py: twenty thousand empty lines after a broken field took 8 s."""
    started = time.process_time()
    BibtexReader().read(text, "a.bib")
    assert time.process_time() - started < 3
