"""Loading a gold set: our own folder or single file, or a judged collection in the common layout.

``load_gold(path)`` takes what it finds: a folder with ``set.json``, a ``.json`` file, or a folder with ``corpus.jsonl``.
docs/evaluation.md describes the three. What is refused, always as GoldInvalid with file and line: anything twice, a
scope that lacks one of its five values, an id that is unknown or belongs to another scope, a missing file, an anchor that
stands in its file more or less than once, a grade beyond 0 to 3. ``tests/evaluation/test_gold.py`` holds each refusal.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, get_args

from arr_sql.core.research_models import SCOPE_COLUMNS, ScopeKey
from arr_sql.errors import GoldInvalid, ScopeInvalid
from arr_sql.evaluation.gold_checks import GoldChecks, Record
from arr_sql.evaluation.gold_models import GoldFile, GoldSet, TopicClass
from arr_sql.evaluation.gold_text import as_object, line_of, lines_of, parse_document, parse_json, read_text, records
from arr_sql.evaluation.judged_collection import is_collection, read_collection

QRELS_HEADER = "topic_id\titem\tgrade"


def load_gold(path: Path) -> GoldSet:
    """The set at ``path``. Raises GoldInvalid."""
    if path.is_file():
        return _load_file(path)
    if (path / "set.json").is_file():
        return _load_folder(path)
    if is_collection(path):
        return read_collection(path)
    raise GoldInvalid(
        "There is no gold set here: no set.json, no corpus.jsonl, and it is not a .json file. See docs/evaluation.md.",
        str(path),
        0,
    )


def _load_folder(folder: Path) -> GoldSet:
    path = folder / "set.json"
    text = read_text(path)
    head = as_object(parse_json(text, path, 1), path, 1)
    scopes = _scopes(head, text, path)
    files = {alias: _files_below(folder / "files" / alias) for alias in scopes}
    for entry in sorted((folder / "files").iterdir()) if (folder / "files").is_dir() else ():
        if entry.name not in scopes:
            raise GoldInvalid(f"The folder '{entry.name}' is no scope of set.json.", str(folder / "files"), 0)
    memories = folder / "memories.jsonl"
    checks = GoldChecks(scopes, files, _classes(head, text, path))
    checks.take_memories(records(memories) if memories.exists() else (), memories)
    checks.take_topics(records(folder / "topics.jsonl"), folder / "topics.jsonl")
    checks.take_judgements(_qrels(folder / "qrels.tsv"), folder / "qrels.tsv")
    return checks.gold(head, folder, text, path)


def _load_file(path: Path) -> GoldSet:
    text = read_text(path)
    head, lines = parse_document(text, path)
    scopes = _scopes(head, text, path)
    files: dict[str, dict[str, GoldFile]] = {alias: {} for alias in scopes}
    ids: dict[str, tuple[str, str]] = {}
    for line, entry in _elements(head, lines, "corpus", path):
        alias, name, content = (_text(entry, key, path, line) for key in ("scope", "path", "text"))
        identity = _text(entry, "id", path, line)
        if alias not in scopes:
            raise GoldInvalid(f"The scope '{alias}' is not in \"scopes\".", str(path), line)
        if identity in ids or name in files[alias]:
            raise GoldInvalid(f"'{identity if identity in ids else name}' stands twice.", str(path), line)
        if not _is_plain_path(name):
            raise GoldInvalid(f"The path '{name}' does not stay inside its scope's folder.", str(path), line)
        ids[identity] = (alias, name)
        files[alias][name] = GoldFile(name, text=content)
    checks = GoldChecks(scopes, files, _classes(head, text, path), ids)
    checks.take_memories(_elements(head, lines, "memories", path), path)
    checks.take_topics(_elements(head, lines, "topics", path), path)
    checks.take_judgements(_elements(head, lines, "qrels", path), path)
    return checks.gold(head, path, text, path)


def _scopes(head: Mapping[str, Any], text: str, path: Path) -> dict[str, ScopeKey]:
    found = head.get("scopes")
    if not isinstance(found, dict) or not found:
        raise GoldInvalid('"scopes" must map aliases to the five values.', str(path), line_of(text, '"scopes"'))
    scopes: dict[str, ScopeKey] = {}
    for alias, values in found.items():
        line = line_of(text, f'"{alias}"')
        if not _is_plain_path(alias) or "/" in alias:
            raise GoldInvalid(f"The alias '{alias}' does not fit a folder's name.", str(path), line)
        if not isinstance(values, dict) or set(values) != set(SCOPE_COLUMNS):
            raise GoldInvalid(f"The scope '{alias}' needs exactly {', '.join(SCOPE_COLUMNS)}.", str(path), line)
        try:
            scopes[alias] = ScopeKey(**values)
        except ScopeInvalid as error:
            raise GoldInvalid(f"The scope '{alias}': {error}", str(path), line) from None
    if len(set(scopes.values())) < len(scopes):
        raise GoldInvalid("Two aliases name the same scope.", str(path), line_of(text, '"scopes"'))
    return scopes


def _classes(head: Mapping[str, Any], text: str, path: Path) -> frozenset[str]:
    known = frozenset(get_args(TopicClass))
    named = head.get("classes", sorted(known))
    if not isinstance(named, list) or not known.issuperset(map(str, named)):
        raise GoldInvalid(f'"classes" may hold {", ".join(sorted(known))}.', str(path), line_of(text, '"classes"'))
    return frozenset(named)


def _files_below(folder: Path) -> dict[str, GoldFile]:
    files: dict[str, GoldFile] = {}
    for parent, folders, names in os.walk(folder):
        for name in sorted([*names, *(f for f in folders if (Path(parent) / f).is_symlink())]):
            path = Path(parent) / name
            if path.is_symlink() or not path.is_file():
                raise GoldInvalid("A file of a gold set must be an ordinary file.", str(path), 0)
            relative = path.relative_to(folder).as_posix()
            files[relative] = GoldFile(relative, disk=path)
    return files


def _qrels(path: Path) -> Iterable[Record]:
    for line, row in lines_of(path):
        fields = row.split("\t")
        if line == 1 and row.startswith(QRELS_HEADER):
            continue
        if len(fields) not in (3, 4):
            raise GoldInvalid("A judgement is topic, item, grade and note, with tabs between.", str(path), line)
        grade = int(fields[2]) if fields[2].isascii() and fields[2].isdigit() else fields[2]
        yield line, {"topic_id": fields[0], "item": fields[1], "grade": grade, "note": "".join(fields[3:])}


def _elements(head: Mapping[str, Any], lines: Mapping[str, list[int]], key: str, path: Path) -> Iterable[Record]:
    values = head.get(key, [])
    if not isinstance(values, list):
        raise GoldInvalid(f'"{key}" must be an array.', str(path), 1)
    for line, value in zip(lines.get(key, []), values, strict=True):
        yield line, as_object(value, path, line)


def _text(entry: Mapping[str, Any], key: str, path: Path, line: int) -> str:
    value = entry.get(key)
    if not isinstance(value, str) or not value:
        raise GoldInvalid(f'"{key}" is missing or not text.', str(path), line)
    return value


def _is_plain_path(name: str) -> bool:
    return not name.startswith("/") and all(
        part not in ("", ".", "..") and "\\" not in part and ":" not in part for part in name.split("/")
    )
