"""LaTeX: all text as it stands, the structure decoded beside it."""

from __future__ import annotations

import time

import pytest

from arr_sql.ingest.chunker import chunk
from arr_sql.ingest.readers.base import split_lines
from arr_sql.ingest.readers.latex import LatexReader, argument, mask

PAPER = r"""\documentclass[11pt]{article}
\newcommand{\model}{GrapeNet}
\newcommand\sys{\model{} 2}
\def\note#1{#1}
\title{On {\model} and \'Etienne's Law\thanks{Funded.}}
\author{J{\"o}rg M\"uller \and Ada Lovelace\\ \texttt{ada@example.org}}
\date{March 2021}
\begin{document}
\maketitle
\begin{abstract}
We study $\alpha$-decay.
\end{abstract}
\section{Intro\-duction\label{sec:intro}} % \section{not a section}
As \citet{knuth84,lamport94} says, see \ref{sec:intro}.

% \section{commented out}
\input{chapters/method}
\subsection*[short]{The \sys{} in
  $L_2$ norm}
Text below.
\begin{verbatim}
\section{verbatim, no section}

still verbatim
\end{verbatim}
\begin{figure}
  \centering

  \caption{A blank line above.}\label{fig:one}
\end{figure}
\appendix
\section{Proofs}
Done.
\begin{thebibliography}{9}
\bibitem{knuth84} Knuth.
\bibitem{lamport94} Lamport.
\end{thebibliography}
\end{document}
"""


def test_sections_give_the_path() -> None:
    """Under the title, with own macros, accents and Greek decoded; comments and verbatim text are no structure."""
    result = LatexReader().read(PAPER, "a.tex")
    title = "On GrapeNet and Étienne's Law"
    assert result.title == title
    headings = list(dict.fromkeys(piece.heading for piece in result.pieces))
    assert headings == [
        title,
        f"{title} > Abstract",
        f"{title} > Introduction",
        f"{title} > Introduction > The GrapeNet 2 in L_2 norm",
        f"{title} > Appendix",
        f"{title} > Appendix > Proofs",
        f"{title} > Appendix > References",
    ]
    assert [piece.name for piece in result.pieces if piece.name] == ["knuth84", "lamport94"]


def test_every_line_is_kept_as_it_stands() -> None:
    """Comments, math, labels and citation keys are text that can be searched."""
    joined = "\n".join(item.text for item in chunk(LatexReader().read(PAPER, "a.tex")))
    assert joined.split() == PAPER.split()


def test_figures_are_not_cut_at_blank_lines() -> None:
    """A caption stays with its figure."""
    pieces = LatexReader().read(PAPER, "a.tex").pieces
    (figure,) = [piece for piece in pieces if "\\caption" in piece.text]
    assert figure.text.startswith("Text below.\n") and "\\end{figure}" in figure.text


def test_metadata() -> None:
    """Title, authors and year as people cite; included files, labels and citation keys are named, not followed."""
    assert LatexReader().read(PAPER, "a.tex").metadata == {
        "title": "On GrapeNet and Étienne's Law", "authors": ["Jörg Müller", "Ada Lovelace"], "year": 2021,
        "inputs": ["chapters/method"], "labels": ["sec:intro", "fig:one"], "cites": ["knuth84", "lamport94"],
        "document_class": "article",
    }  # fmt: skip


def test_chinese_classes() -> None:
    """ctex documents: chapters, a title in Chinese, and the language."""
    text = "\\documentclass[UTF8]{ctexart}\n\\title{检索增强生成}\n\\author{王小明、李四}\n"
    text += "\\begin{document}\n\\section{引言}\n正文。\n\\end{document}\n"
    result = LatexReader().read(text, "a.tex")
    assert result.metadata == {
        "title": "检索增强生成", "authors": ["王小明", "李四"], "language": "zh", "document_class": "ctexart",
    }  # fmt: skip
    assert [piece.heading for piece in result.pieces] == ["检索增强生成", "检索增强生成 > 引言", "检索增强生成 > 引言"]
    setup = "\\thesissetup{\n  zh / title   = {上海的论文},\n  author = {张三},\n  date = {2024-05-01},\n}\n"
    assert LatexReader().read(setup, "setup.tex").metadata == {"title": "上海的论文", "authors": ["张三"], "year": 2024}


@pytest.mark.parametrize(
    "text",
    [
        "\\renewcommand\\section{\\@ifstar{\\a}{\\b}}\n\\section{Real}\nx\n",
        "\\newcommand{\\mysec}[1]{\\section{#1}}\n\\section{Real}\nx\n",
        "\\let\\old\\section\n\\section{Real}\nx\n",
        "\\section{never closed\n\n" + "word " * 2000 + "\n\\section{Real}\nx\n",
        "\\newcommand{\\a}{\\b}\\newcommand{\\b}{\\a\\a}\n\\section{Real}\nx\n",
    ],
)
def test_definitions_are_no_sections(text: str) -> None:
    """A macro's own definition, one that never closes and one that calls itself give no heading and no hang."""
    assert {piece.heading for piece in LatexReader().read(text, "a.tex").pieces} <= {"", "Real"}


def test_offsets_survive_masking() -> None:
    """Comments and verbatim text become spaces; lines and columns stay."""
    lines = split_lines("a % b\n100\\% c\n\\\\% d\n\\begin{lstlisting}[x]\n% e\n\\end{lstlisting} f\n\\begin{comment}")
    masked = mask(lines).split("\n")
    assert [len(line) for line in masked] == [len(line) for line in lines]
    assert [line.strip() for line in masked] == [
        "a",
        "100\\% c",
        "\\\\",
        "\\begin{lstlisting}",
        "",
        "\\end{lstlisting} f",
        "\\begin{comment}",
    ]
    assert argument("{a{b}\\}c} d", 0) == "a{b}\\}c"
    assert argument("{" * 10_000, 0) is None


@pytest.mark.parametrize(
    "text",
    [
        "\\section{" * 30_000,
        "\\begin{figure}\n" * 20_000,
        "\\x{" * 50_000,
        "%" * 300_000,
        "\\cite{a," * 20_000,
        "\\newcommand{\\a}{" * 10_000,
    ],
)
def test_large_odd_files_are_quick(text: str) -> None:
    """Linear, whatever is left open."""
    start = time.process_time()
    LatexReader().read(text, "a.tex")
    assert time.process_time() - start < 15
