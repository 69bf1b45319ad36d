"""BibTeX: raw entries, decoded headings, recovery from slips."""

from __future__ import annotations

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
    assert result.warnings == ("bibtex_unclosed: line 1",)


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
