"""Other languages: blocks by layout, names by pattern."""

from __future__ import annotations

import time

import pytest

from arr_sql.ingest.readers import reader_for
from arr_sql.ingest.readers.code_names import member_in, name_in

from .reader_snippets import PAD as PADDING
from .reader_snippets import SNIPPETS


def names(path: str, text: str) -> list[str]:
    reader = reader_for(path)
    assert reader is not None
    return [piece.name for piece in reader.read(text, path).pieces]


PAD = "    // padding that makes the block long\n" * 40


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        (
            "a.js",
            "'use strict';\n\n/** Doc. */\nfunction run(x) {\n}\nconst go = async (x) => {\n};\n"
            "window.onload = function () {}\n",
            ["", "run", "go", "window.onload"],
        ),
        ("a.ts", "export interface Foo { a: string }\nexport default async function main() {\n}\n", ["Foo", "main"]),
        (
            "A.java",
            "package a.b;\n\n/**\n * Doc.\n */\n@Service\npublic class Trainer extends Base<T> {\n    private int x;\n"
            "\n    /** Step. */\n"
            "    @Override\n    public List<String> step(int a) throws E {\n    }\n\n    void close() {\n    }\n"
            + PAD
            + "}\n",
            ["", "Trainer", "Trainer.step", "Trainer.close"],
        ),
        (
            "a.c",
            "#include <x.h>\n\nstatic int\nadd(int a, int b)\n{\n    return a + b;\n}\n\nchar *name(void) {\n}\n",
            ["", "add", "name"],
        ),
        ("a.cpp", "template <typename T>\nT Box<T>::get(int x) {\n}\n", ["Box<T>::get"]),
        (
            "a.go",
            "package main\n\n// Run runs.\nfunc (p *Proxy) Run() error {\n}\n\ntype Conf struct {\n}\n",
            ["", "Proxy.Run", "Conf"],
        ),
        (
            "a.rs",
            "#[derive(Debug)]\npub struct P { x: i32 }\n\nimpl<T> Iterator for P<T> {\n}\n\npub(crate) fn go() {}\n",
            ["P", "P", "go"],
        ),
        ("a.R", "library(x)\n\nfit.model <- function(a, b) {\n}\n", ["", "fit.model"]),
        ("a.jl", "function foo(x)\n  x\nend\nbar(x) = 2x\n", ["foo", "bar"]),
        ("a.m", "function [a, b] = fit(x)\n% doc\na = x;\nend\nfunction y = g(x)\ny = 1;\nend\n", ["fit", "g"]),
        ("a.sh", "#!/bin/sh\nset -e\n\nbuild() {\n  make\n}\n\nfunction clean {\n  rm x\n}\n", ["", "build", "clean"]),
        (
            "a.sql",
            '-- users\nCREATE TABLE IF NOT EXISTS "users" (\n  id INTEGER\n);\n\ncreate index by_name on users(x);\n',
            ["users", "by_name"],
        ),
        ("a.css", "h1,\n.title {\n  color: red;\n}\n\n.note:hover { top: 0 }\n", ["h1, .title", ".note:hover"]),
        ("Makefile", "CC = gcc\n\nall: x\n\tmake x\n", ["", ""]),
    ],
    ids=lambda value: value if isinstance(value, str) and len(value) < 12 else "",
)
def test_blocks_have_names(path: str, text: str, expected: list[str]) -> None:
    """A definition begins a piece, with the comments and attributes above it."""
    assert names(path, text) == expected


@pytest.mark.parametrize("path", SNIPPETS)
def test_a_table_of_languages(path: str) -> None:
    """Functions, methods and types of JavaScript, TypeScript, C, C++, Java, Go, Rust, R, Julia, MATLAB and shell."""
    text, expected = SNIPPETS[path]
    text = text.replace("@@PAD@@", PADDING).replace("@@MPAD@@", "    % padding padding padding padding padding\n" * 30)
    assert [name for name in names(path, text) if name] == expected


@pytest.mark.parametrize(
    "line", ["if (x) {", "for (i = 0; i < n; i++) {", "return foo(x)", "switch (x) {", "} else {", "x = 1", "foo(bar);"]
)
def test_statements_are_no_definitions(line: str) -> None:
    """Control flow and calls give no name."""
    assert name_in(line) is None


@pytest.mark.parametrize(
    "line",
    [
        "    a(" + "{}" * 900,
        "    a" + "()" * 900,
        "    a(" + ")" * 900 + "{}" * 500,
        "f(" + "()" * 900,
        "a::" * 600 + "(",
        "a " * 1000,
        "*" * 2000,
        "a" * 2000,
        "template<" * 200,
        "pub " * 500,
        "(" * 2000,
        "x::" * 600,
        "<" * 2000,
    ],
)
def test_names_are_found_in_linear_time(line: str) -> None:
    """No pattern backtracks: the worst line takes milliseconds."""
    start = time.perf_counter()
    for language in ("", "julia", "go", "r", "latex"):
        name_in(line, language)
    member_in(line)
    assert time.perf_counter() - start < 0.5
