"""Source code in any language, without a parser: cut where a block begins at the left margin.

Promise: works on every text, never on a wrong grammar. A block begins at an unindented line that follows a blank line
or a closing bracket, or that defines something; comments and decorators directly above belong to it. Names are a best
effort by pattern; long class-like blocks are cut once more at their members, named ``Class.member``.
"""

from __future__ import annotations

import re

from .base import Cut, ReadResult, TextReader, cover, split_lines

LANGUAGES = {
    "javascript": ".js .jsx .mjs .cjs", "typescript": ".ts .tsx .mts .cts", "c": ".c .h", "java": ".java", "go": ".go",
    "cpp": ".cc .cpp .cxx .hh .hpp .hxx .ipp .cu .cuh .metal", "rust": ".rs", "r": ".r .rmd", "julia": ".jl",
    "matlab": ".m .mm", "shell": ".sh .bash .zsh .fish .ksh", "powershell": ".ps1 .psm1", "batch": ".bat .cmd",
    "sql": ".sql", "css": ".css .scss .sass .less", "ruby": ".rb", "php": ".php", "perl": ".pl .pm", "lua": ".lua",
    "kotlin": ".kt .kts", "scala": ".scala", "swift": ".swift", "csharp": ".cs", "fsharp": ".fs .fsx", "dart": ".dart",
    "haskell": ".hs", "ocaml": ".ml .mli", "elixir": ".ex .exs", "erlang": ".erl", "clojure": ".clj .cljs .edn",
    "lisp": ".el .lisp .scm", "fortran": ".f .f90 .f95 .f03 .for", "vue": ".vue", "svelte": ".svelte", "zig": ".zig",
    "cython": ".pyx .pxd", "protobuf": ".proto", "graphql": ".graphql .gql", "cmake": ".cmake", "make": ".mk",
    "assembly": ".s .asm", "stan": ".stan", "verilog": ".v .sv .vhd", "nix": ".nix", "terraform": ".tf .hcl",
    "groovy": ".groovy .gradle", "solidity": ".sol", "tcl": ".tcl", "vim": ".vim", "awk": ".awk", "sas": ".sas",
    "stata": ".do .ado", "netlogo": ".nlogo", "snakemake": ".smk", "nextflow": ".nf",
}  # fmt: skip
_BY_SUFFIX = {suffix: language for language, suffixes in LANGUAGES.items() for suffix in suffixes.split()}
_BY_NAME = {
    "makefile": "make", "gnumakefile": "make", "dockerfile": "docker", "containerfile": "docker", "jenkinsfile": "groovy",
    "cmakelists.txt": "cmake", "rakefile": "ruby", "gemfile": "ruby", "vagrantfile": "ruby", "brewfile": "ruby",
    "justfile": "make", "snakefile": "snakemake", "procfile": "shell", "sconstruct": "python", "sconscript": "python",
}  # fmt: skip

_NAME = r"[^\W\d][\w$]*"
_QUALIFIED = rf"{_NAME}(?:(?:\.|::|:){_NAME})*"
_MODIFIERS = (
    r"(?:(?:export|default|public|private|protected|internal|static|abstract|final|sealed|async|pub(?:\([\w: ]{0,40}\))?|"
    r"unsafe|extern|const|inline|virtual|override|open|data|partial|readonly|declare|local|suspend|case|constexpr|"
    r"mutable|template\s*<[^<>\n]{0,200}>)\s+){0,6}"
)
_CONTAINER = re.compile(
    rf"\s*{_MODIFIERS}(?:class|struct|interface|enum(?:\s+class)?|trait|impl(?:\s*<[^<>\n]{{0,100}}>)?|namespace|module|union"
    rf"|object|protocol|record|contract|service|extension|defmodule|package)\s+(?:{_NAME}\s+for\s+)?(?P<name>{_QUALIFIED})"
)
_DEFINITIONS = [
    re.compile(pattern, re.IGNORECASE if flags else 0)
    for flags, pattern in (
        (0, rf"\s*{_MODIFIERS}(?:function\*?|func|fn|fun|def|defp|sub|proc|macro|cpdef|cdef|subroutine|let\s+rec)\s+(?:\([^()\n]{{0,80}}\)\s*)?(?:\[[^\]\n]{{0,80}}\]\s*=\s*|{_NAME}\s*=\s*(?={_NAME}\s*\())?(?P<name>{_QUALIFIED})"),
        (0, rf"\s*{_MODIFIERS}(?:const|let|var|val)\s+(?P<name>{_NAME})\s*(?::[^=\n]{{0,120}})?=\s*(?:async\s*)?(?:function\b|\(|{_NAME}\s*=>)"),
        (0, rf"(?P<name>[\w.$]+)\s*(?:<-|=)\s*function\b"),
        (0, rf"(?P<name>[\w.:-]+)\s*\(\)\s*\{{?\s*$"),
        (0, rf"\s*{_MODIFIERS}(?:type|typealias|newtype|data|message|macro_rules!|#define|#\s*define)\s+(?P<name>{_NAME})"),
        (1, rf"\s*create\s+(?:or\s+replace\s+)?(?:temp(?:orary)?\s+|unique\s+|virtual\s+|materialized\s+){{0,2}}(?:table|view|index|trigger|function|procedure|type|schema)\s+(?:if\s+not\s+exists\s+)?(?P<name>[\w.\"`\[\]]+)"),
        (0, rf"(?:@[\w-]+\s+)?(?P<name>[.#]?[\w-][^{{}};\n]{{0,80}}?)\s*\{{\s*$"),
    )
]  # fmt: skip
_C_FUNCTION = re.compile(
    rf"\s*(?:[\w:<>,*&~\[\]$@]+[ \t*&]+){{1,8}}[*&]*(?P<name>~?{_QUALIFIED})\s*\([^;{{}}]{{0,400}}(?:\{{.{{0,200}})?$"
)
_METHOD = re.compile(rf"\s+{_MODIFIERS}(?:get\s+|set\s+|\*)?(?P<name>#?{_NAME})\s*\([^;{{}}]{{0,300}}\)[^;{{}}=]{{0,100}}\{{\s*$")
_NOT_NAMES = frozenset("if else elif for foreach while switch catch return do try with when match using lock sizeof new".split())
_CLOSER = re.compile(r"[})\]]|end\b|END\b|fi\b|done\b|esac\b|#endif|else\b|elseif\b|elif\b|catch\b|finally\b|then\b|\{\s*$")
_COMMENT = re.compile(r"\s*(?://|#(?!define|if|else|endif|include|pragma)|--|%|;;|/\*|\*|'''|@\w|\[\w|\"\"\")")
_LONG_BLOCK = 1200
_MAX_LINE = 2000


class CodeReader(TextReader):
    """Any programming language, by layout and simple patterns."""

    name = "code"
    suffixes = frozenset(_BY_SUFFIX)
    file_names = frozenset(_BY_NAME)

    def read(self, text: str, path: str) -> ReadResult:
        lines = split_lines(text)
        return ReadResult(cover(lines, code_cuts(lines), Cut(1, kind="code")), language=language_of(path))


def language_of(path: str) -> str:
    """The language by suffix or file name, or an empty string."""
    name = path.replace("\\", "/").rpartition("/")[2].lower()
    return _BY_NAME.get(name) or _BY_SUFFIX.get("." + name.rpartition(".")[2], "")


def code_cuts(lines: list[str]) -> list[Cut]:
    """Where blocks begin, with their names. Linear in the number of lines."""
    starts = _block_starts(lines)
    cuts: list[Cut] = []
    for number, (start, body) in enumerate(starts):
        end = starts[number + 1][0] if number + 1 < len(starts) else len(lines)
        name, container = _name_of(lines, body)
        kind = ("class" if container else "function") if name else "code"
        cuts.append(Cut(start + 1, name, kind, name))
        if container and sum(map(len, lines[start:end])) > _LONG_BLOCK:
            cuts.extend(_member_cuts(lines, body + 1, end, name))
    return cuts


def _block_starts(lines: list[str]) -> list[tuple[int, int]]:
    """(first line with its comments, first line of code) of each block at the left margin, as indexes."""
    starts: list[tuple[int, int]] = []
    lead: int | None = None  # where the comments directly above begin
    open_before = True  # may a block begin here: start of file, after a blank line, after a closer
    for index, line in enumerate(lines):
        if not line.strip():
            lead, open_before = None, True
            continue
        if line[0].isspace():
            lead, open_before = None, False
            continue
        if _CLOSER.match(line):
            lead, open_before = None, True
            continue
        if _COMMENT.match(line):
            lead = index if lead is None else lead
            continue
        if open_before or lead is not None or _is_definition(line):
            starts.append((index if lead is None else lead, index))
        lead, open_before = None, False
    return starts


def _is_definition(line: str) -> bool:
    return _match_name(line[:_MAX_LINE]) is not None


def _match_name(line: str) -> tuple[str, bool] | None:
    match = _CONTAINER.match(line)
    if match:
        return match["name"], True
    for pattern in _DEFINITIONS:
        match = pattern.match(line)
        if match and match["name"].lower() not in _NOT_NAMES:
            return " ".join(match["name"].strip("\"`[]").split()), False
    match = _C_FUNCTION.match(line)
    if match and match["name"] not in _NOT_NAMES and line.split(None, 1)[0] not in _NOT_NAMES:
        return match["name"], False
    return None


def _name_of(lines: list[str], index: int) -> tuple[str, bool]:
    """Name of the block whose code begins at ``index``; a C return type on its own line is looked past."""
    for line in lines[index : index + 2]:
        found = _match_name(line[:_MAX_LINE])
        if found:
            return found
    return "", False


def _member_cuts(lines: list[str], start: int, end: int, container: str) -> list[Cut]:
    """Members of a class-like block: definitions at its smallest inner indentation."""
    depths = [len(line) - len(line.lstrip()) for line in lines[start:end] if line.strip() and line[0].isspace()]
    if not depths:
        return []
    depth = min(depths)
    cuts: list[Cut] = []
    lead: int | None = None
    for index in range(start, end):
        line = lines[index]
        if not line.strip() or len(line) - len(line.lstrip()) > depth + 1:
            lead = None if not line.strip() else lead
            continue
        if _COMMENT.match(line):
            lead = index if lead is None else lead
            continue
        head = line[:_MAX_LINE]
        match = _METHOD.match(head)
        found = (match["name"], False) if match else _match_name(head)
        if found and line[0].isspace() and found[0].lower() not in _NOT_NAMES:
            name = f"{container}.{found[0]}"
            cuts.append(Cut((index if lead is None else lead) + 1, name, "function", name))
        lead = None
    return cuts
