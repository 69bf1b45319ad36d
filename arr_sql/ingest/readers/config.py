"""Configuration: one piece per top-level key or section, by lines.

YAML, TOML, JSON, INI and ``.env``-like files are never parsed, so a broken one reads as well as a sound one and no
value is changed. A long section of YAML or JSON is cut once more at its own keys, named ``services.web``. Small
neighbours share a chunk (see ``chunker``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from arr_sql.core.redaction import WITHHELD_LINE

from .base import Cut, ReadResult, TextReader, clip, cover, join_heading, split_lines

_SECTION = re.compile(r"\[{1,2}\s*(?P<name>[^\]\n]{1,160}?)\s*\]{1,2}\s*(?:[#;].*)?$")
_YAML_KEY = re.compile(r"(?:- )?(?P<name>[^\s#:{}\[\],&*!|>%@`][^:\n]{0,120}?)\s*:(?:\s|$)")
_PLAIN_KEY = re.compile(r"(?P<name>[A-Za-z_][\w.-]{0,80})\s*[=:]")
_JSON_KEY = re.compile(r"(?P<indent>\s*)\"(?P<name>[^\"\\\n]{1,120})\"\s*:")
_SUFFIXES = ".ini .cfg .conf .properties .cff .lock .service .webmanifest"
_FILE_NAMES = (
    ".gitignore .gitattributes .gitmodules .dockerignore .editorconfig .flake8 .pylintrc .arrignore .prettierrc"
    " .babelrc .clang-format .clang-tidy pipfile codeowners .env.example .env.sample .env.template .env.dist"
)
_INNER_KEY = {
    "yaml": re.compile(r"(?P<indent>[ \t]+)(?:- )?(?P<name>[^\s#:{}\[\],&*!|>%@`\"'-][^:\n]{0,120}?)\s*:(?:\s|$)"),
    "json": _JSON_KEY,
}
_LONG_SECTION = 1200
_LANGUAGES = {".yml": "yaml", ".yaml": "yaml", ".toml": "toml", ".json": "json", ".jsonc": "json", ".json5": "json"}


class ConfigReader(TextReader):
    """YAML, TOML, JSON, INI and their relatives."""

    name = "config"
    version = "3"
    suffixes = frozenset({*_LANGUAGES, *_SUFFIXES.split()})
    file_names = frozenset(_FILE_NAMES.split())

    def read(self, text: str, path: str) -> ReadResult:
        lines = split_lines(text)
        suffix = "." + path.lower().rpartition(".")[2]
        language = _LANGUAGES.get(suffix, "yaml" if suffix == ".cff" else "config")
        cuts = _cuts(lines, language)
        if language in _INNER_KEY:
            cuts = list(_with_inner(lines, cuts, _INNER_KEY[language]))
        return ReadResult(cover(lines, cuts, Cut(1, kind="config")), language=language)


def _cuts(lines: list[str], language: str) -> list[Cut]:
    if language == "json":
        return _json_cuts(lines)
    cuts: list[Cut] = []
    lead: int | None = None
    in_section = False  # keys of a section stay with it
    for index, line in enumerate(lines):
        if not line.strip():
            lead = None
            continue
        if line.startswith(("#", ";", WITHHELD_LINE)):  # what stands for a credential looks like a section's name
            lead = index if lead is None else lead
            continue
        match = None
        if not line[0].isspace():
            match = _SECTION.match(line) if language != "yaml" else _YAML_KEY.match(line[:200])
            in_section = in_section or (match is not None and language != "yaml")
            if match is None and language != "yaml" and not in_section:
                match = _PLAIN_KEY.match(line)
        if match:
            name = clip(match["name"].strip("\"'"))
            cuts.append(Cut((index if lead is None else lead) + 1, name, "config", name))
        lead = None
    return cuts


def _with_inner(lines: list[str], cuts: list[Cut], key: re.Pattern[str]) -> Iterator[Cut]:
    """The cuts, and those at the keys one level below in each long section."""
    for cut, end in zip(cuts, [*(cut.line - 1 for cut in cuts[1:]), len(lines)], strict=False):
        yield cut
        body = lines[cut.line : end]
        if sum(map(len, body)) <= _LONG_SECTION:
            continue
        indent = None
        for number, line in enumerate(body, cut.line + 1):
            match = key.match(line[:300])
            if match and (indent is None or match["indent"] == indent):
                indent = match["indent"]
                name = clip(match["name"].strip("\"'"))
                yield Cut(number, join_heading(cut.heading, name), "config", clip(f"{cut.name}.{name}"))


def _json_cuts(lines: list[str]) -> list[Cut]:
    """Keys at the indentation of the first key. A JSON string holds no line break, so no key is found in a value."""
    cuts: list[Cut] = []
    indent: str | None = None
    for index, line in enumerate(lines):
        match = _JSON_KEY.match(line)
        if match and (indent is None or match["indent"] == indent):
            indent = match["indent"]
            cuts.append(Cut(index + 1, match["name"], "config", match["name"]))
    return cuts
