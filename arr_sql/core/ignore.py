"""Which names the walk leaves alone: ``.gitignore``, ``.arrignore`` and folders that belong to tools.

Promise: nested ignore files mean what they mean to git: each applies from its own folder down, the deepest file that
has a matching rule decides, its last matching rule wins, ``!`` takes a name back, and nothing below an ignored
folder can be taken back. ``.arrignore`` has the same syntax and comes after ``.gitignore`` of the same folder.
The translation of patterns is pathspec's; ``tests/ingest/test_walk_ignore.py`` compares the outcome with git itself.

Not read: ``.git/info/exclude``, the user's global excludes, and ignore files above the root, which lie outside the
trusted folder or describe a person rather than a project.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable
from dataclasses import dataclass

from arr_sql.core.canonical import sha256_bytes
from arr_sql.core.rooted import FileRead, Root

IGNORE_FILES = (".gitignore", ".arrignore")
MAX_IGNORE_BYTES = 1 << 20

# Never walked, whatever the ignore files say. A root that itself lies inside such a folder is walked: it was named.
TOOL_FOLDERS = frozenset(
    {
        ".git", ".hg", ".svn", ".arr", ".venv", "venv", "node_modules", "__pycache__", ".tox", ".nox", ".mypy_cache",
        ".pytest_cache", ".ruff_cache", "site-packages", "dist-packages", "vendor", "third_party", "bower_components",
        ".ipynb_checkpoints", ".idea", ".vscode",
    }
)  # fmt: skip
VENV_MARKER = "pyvenv.cfg"  # a folder of any name that holds this file is a virtual environment

# pathspec turns each star into a backtracking loop. "*a*a*a*a*b" against a name of 255 "a" would run for hours, so a
# rule with more stars than anybody writes by hand is not honoured (it is kept in `unused`).
_MAX_STARS_IN_SEGMENT = 3
_MAX_STARS = 6
_STARS = re.compile(r"\*+")
_TRAILING_SPACE = re.compile(r"(?<!\\) +\Z")
_FOLDER_MARK = "ps_d"  # the group in which pathspec's expressions match the slash after the name
_NAMED_GROUP = re.compile(r"\(\?P<\w+>")


@dataclass(frozen=True, slots=True)
class _Rule:
    takes_back: bool
    regex: re.Pattern[str]
    anchored: bool


@dataclass(frozen=True, slots=True)
class IgnoreRules:
    """The rules of one folder. ``prefix`` is the folder's path with a trailing slash, or empty for the root.
    ``unused`` are lines that are no valid pattern, or too costly a one."""

    prefix: str
    rules: tuple[_Rule, ...]  # the last one first
    any_match: re.Pattern[str]
    unused: tuple[str, ...] = ()
    digest: str = ""  # SHA-256 of the lines it was made of

    def verdict(self, rel: str) -> bool | None:
        """True: ignored. False: taken back with ``!``. None: no rule matches. A folder's ``rel`` ends in ``/``."""
        inside = rel[len(self.prefix) :]
        if self.any_match.match(inside) is None:
            return None  # one look for all rules: most names match none, and a hundred rules are common
        for rule in self.rules:
            if _matches_itself(rule, inside):
                return not rule.takes_back
        return None


def _matches_itself(rule: _Rule, rel: str) -> bool:
    """Whether the rule means this very name. pathspec also matches what lies *below* a match; the walk has already
    decided about the folders above, and git asks about one name at a time."""
    match = rule.regex.search(rel)
    if match is None:
        return False
    if _FOLDER_MARK not in rule.regex.groupindex:
        return True
    if not rule.anchored:  # "*/": the first slash found need not be the last
        return rel.endswith("/")
    return match[_FOLDER_MARK] is None or match.end(_FOLDER_MARK) == len(rel)


def read_rules(root: Root, folder: str, names: Iterable[str]) -> IgnoreRules | None:
    """The rules in ``folder`` (empty, or with a trailing slash), given the names it holds. None when it has none."""
    present = set(names)
    lines: list[str] = []
    for name in IGNORE_FILES:
        if name in present:
            read = root.read_file(folder + name, MAX_IGNORE_BYTES)
            if isinstance(read, FileRead):
                lines += read.data.decode("utf-8-sig", "surrogateescape").split("\n")
    return parse_rules(folder, lines)


def parse_rules(folder: str, lines: Iterable[str]) -> IgnoreRules | None:
    """Compile rules; a line that is no valid pattern matches nothing, as in git."""
    rules: list[_Rule] = []
    unused: list[str] = []
    lines = list(lines)
    for line in lines:
        line = _TRAILING_SPACE.sub("", line.removesuffix("\r"))
        if not line or line.startswith("#"):
            continue
        rule = None if _is_costly(line) else _compile(line)
        if rule is None:
            unused.append(line)
        else:
            rules.append(rule)
    if not rules:
        return None
    digest = sha256_bytes("\n".join(lines).encode("utf-8", "surrogateescape"))
    return IgnoreRules(folder, tuple(reversed(rules)), _combined(rules), tuple(unused), digest)


def is_ignored(rules: Iterable[IgnoreRules], rel: str) -> bool:
    """Decide for one name, given the rules of its ancestors from the root down. A folder's ``rel`` ends in ``/``."""
    for one in reversed(tuple(rules)):
        verdict = one.verdict(rel)
        if verdict is not None:
            return verdict
    return False


def _is_costly(line: str) -> bool:
    segments = [len(_STARS.findall(segment)) for segment in line.split("/")]
    return max(segments) > _MAX_STARS_IN_SEGMENT or sum(segments) > _MAX_STARS


def _compile(line: str) -> _Rule | None:
    from pathspec import GitIgnoreSpec  # a tree without ignore files does not need it

    # "foo/**" means what is in foo, not foo itself, or nothing in it could be taken back; pathspec matches both.
    if line.endswith("/**"):
        line += "/*"
    elif line.endswith("/**/"):
        line += "*/"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # "[[:alpha:]]": a class pathspec does not know
        try:
            (pattern,) = GitIgnoreSpec.from_lines([line], backend="simple").patterns
        except ValueError:
            return None
    regex = getattr(pattern, "regex", None)
    if pattern.include is None or regex is None:
        return None
    return _Rule(not pattern.include, regex, regex.pattern.startswith("^"))


def _combined(rules: Iterable[_Rule]) -> re.Pattern[str]:
    """One expression that matches, from the start, whatever any single rule finds."""
    parts = []
    for rule in rules:
        source = _NAMED_GROUP.sub("(?:", rule.regex.pattern)
        parts.append(f"(?:{source})" if rule.anchored else f"(?s:.*?)(?:{source})")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        return re.compile("|".join(parts))
