"""Source code in any language, without a parser: cut where a block begins at the left margin.

Promise: works on every text, never on a wrong grammar. A block begins at an unindented line that follows a blank line
or a closing bracket, or that defines something; comments and decorators directly above belong to it. Names are a best
effort by pattern; long class-like blocks are cut once more at their members, named ``Class.member``.
"""

from __future__ import annotations

import re

from .base import Cut, ReadResult, TextReader, cover, split_lines
from .code_names import member_in, name_in

LANGUAGES = {
    "javascript": ".js .jsx .mjs .cjs", "typescript": ".ts .tsx .mts .cts", "c": ".c .h", "java": ".java", "go": ".go",
    "cpp": ".cc .cpp .cxx .hh .hpp .hxx .ipp .cu .cuh .metal", "rust": ".rs", "r": ".r", "julia": ".jl",
    "matlab": ".m .mm", "shell": ".sh .bash .zsh .fish .ksh", "powershell": ".ps1 .psm1", "batch": ".bat .cmd",
    "sql": ".sql", "css": ".css .scss .sass .less", "ruby": ".rb", "php": ".php", "perl": ".pl .pm", "lua": ".lua",
    "kotlin": ".kt .kts", "scala": ".scala", "swift": ".swift", "csharp": ".cs", "fsharp": ".fs .fsx", "dart": ".dart",
    "haskell": ".hs", "ocaml": ".ml .mli", "elixir": ".ex .exs", "erlang": ".erl", "clojure": ".clj .cljs .edn",
    "lisp": ".el .lisp .scm", "fortran": ".f .f90 .f95 .f03 .for", "vue": ".vue", "svelte": ".svelte", "zig": ".zig",
    "cython": ".pyx .pxd", "protobuf": ".proto", "graphql": ".graphql .gql", "cmake": ".cmake", "make": ".mk",
    "assembly": ".s .asm", "stan": ".stan", "verilog": ".v .sv .vhd", "nix": ".nix", "terraform": ".tf .hcl",
    "groovy": ".groovy .gradle", "solidity": ".sol", "tcl": ".tcl", "vim": ".vim", "awk": ".awk", "sas": ".sas",
    "stata": ".do .ado", "latex": ".sty .cls .dtx", "netlogo": ".nlogo", "snakemake": ".smk", "nextflow": ".nf",
}  # fmt: skip
_BY_SUFFIX = {suffix: language for language, suffixes in LANGUAGES.items() for suffix in suffixes.split()}
_BY_NAME = {
    "makefile": "make", "gnumakefile": "make", "dockerfile": "docker", "containerfile": "docker",
    "jenkinsfile": "groovy",
    "cmakelists.txt": "cmake", "rakefile": "ruby", "gemfile": "ruby", "vagrantfile": "ruby", "brewfile": "ruby",
    "justfile": "make", "snakefile": "snakemake", "procfile": "shell", "sconstruct": "python", "sconscript": "python",
}  # fmt: skip

_CLOSER = re.compile(
    r"[})\]]|(?:end|END|fi|done|esac|else|elseif|elif|elsif|catch|except|finally|then)\b|#\s*(?:endif|else|elif)|\{\s*$"
)
_COMMENT = re.compile(
    r"\s*(?://|#(?!\s*(?:define|if|else|endif|include|pragma))|--|%|;|/\*|\*(?![\w\[]{1,80}\()|'''|@(?!interface\b)\w|\[\w|\"\"\"|template\s*<[^;{}]*>\s*$)"
)
_TYPE_ALONE = re.compile(r"[\w\s*&:<>,]{1,200}$")  # a C return type on its own line
_LONG_BLOCK = 1200


class CodeReader(TextReader):
    """Any programming language, by layout and simple patterns."""

    name = "code"
    version = "2"
    suffixes = frozenset(_BY_SUFFIX)
    file_names = frozenset(_BY_NAME)

    def read(self, text: str, path: str) -> ReadResult:
        lines = split_lines(text)
        language = language_of(path)
        return ReadResult(cover(lines, code_cuts(lines, language), Cut(1, kind="code")), language=language)


def language_of(path: str) -> str:
    """The language by suffix or file name, or an empty string."""
    name = path.replace("\\", "/").rpartition("/")[2].lower()
    return _BY_NAME.get(name) or _BY_SUFFIX.get("." + name.rpartition(".")[2], "")


def code_cuts(lines: list[str], language: str = "") -> list[Cut]:
    """Where blocks begin, with their names. Linear in the number of lines."""
    starts = _block_starts(lines, language)
    cuts: list[Cut] = []
    for number, (start, body) in enumerate(starts):
        end = starts[number + 1][0] if number + 1 < len(starts) else len(lines)
        name, container = _name_of(lines, body, end, language)
        kind = ("class" if container else "function") if name else "code"
        cuts.append(Cut(start + 1, name, kind, name))
        if container and sum(map(len, lines[start:end])) > _LONG_BLOCK:
            cuts.extend(_member_cuts(lines, body + 1, end, name, language))
    return cuts


def _block_starts(lines: list[str], language: str) -> list[tuple[int, int]]:
    """(first line with its comments, first line of code) of each block at the left margin, as indexes."""
    starts: list[tuple[int, int]] = []
    lead: int | None = None  # where the comments directly above begin
    # At the start of the file, after a blank line, after a closing bracket. A comment inside a block is no start.
    may_start = True
    in_comment = ""  # what ends the comment that this line stands in
    for index, line in enumerate(lines):
        if in_comment:
            in_comment = "" if in_comment in line else in_comment
        elif not line.strip():
            lead, may_start = None, True
        elif line[0].isspace():
            lead, may_start = None, False
        elif _CLOSER.match(line):
            lead, may_start = None, True
        elif _COMMENT.match(line):
            lead = index if lead is None else lead
            in_comment = "*/" if line.startswith("/*") and "*/" not in line else ""
            if language == "julia" and line.startswith('"""') and line.count('"""') == 1:
                in_comment = '"""'  # a docstring stands above what it describes
        else:
            more = index > 0 and lines[index - 1].endswith(",")
            if not more and (may_start or name_in(line, language) is not None):
                starts.append((index if lead is None else lead, index))
            lead, may_start = None, False
    return starts


def _name_of(lines: list[str], start: int, end: int, language: str) -> tuple[str, bool]:
    """Name of the block whose code begins at ``start``."""
    found = name_in(lines[start], language)
    if found is None and start + 1 < end and _TYPE_ALONE.match(lines[start]):
        found = name_in(f"{lines[start]} {lines[start + 1]}", language)
    return found or ("", False)


def _member_cuts(lines: list[str], start: int, end: int, container: str, language: str) -> list[Cut]:
    """Members of a class-like block: definitions at its smallest inner indentation."""
    depths = [len(line) - len(line.lstrip()) for line in lines[start:end] if line.strip() and line[0].isspace()]
    depth = min(depths, default=0)
    if language == "matlab":  # methods stand inside a block of their own
        depth = min(
            (len(line) - len(line.lstrip()) for line in lines[start:end] if line.lstrip().startswith("function ")),
            default=depth,
        )
    cuts: list[Cut] = []
    lead: int | None = None
    in_comment = False
    for index in range(start, end):
        line = lines[index]
        if in_comment:
            in_comment = "*/" not in line
        elif not line.strip():
            lead = None
        elif not line[0].isspace() or len(line) - len(line.lstrip()) > depth + 1:
            continue
        elif _COMMENT.match(line):
            lead = index if lead is None else lead
            in_comment = line.lstrip().startswith("/*") and "*/" not in line
        else:
            member = member_in(line, language)
            if member:
                name = f"{container}.{member}"
                cuts.append(Cut((index if lead is None else lead) + 1, name, "function", name))
            lead = None
    return cuts
