"""The whole file as a tree of text, one line a row, and a file made from such a tree (docs/backup.md has the format).

Every content table, every column, ids kept: answers, history, replay and the audit chain are the same afterwards. What is
derived (the text index) is made anew. The tree is for reading, comparing and archiving: two exports of one file are equal
to the byte, and a change of one row is a change of one line. Held by tests/memory/test_backup.py.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from arr_sql.core.connection import (
    Connection,
    open_reader,
    open_writer,
    read_transaction,
    sqlite3,
    store_errors,
    write_transaction,
)
from arr_sql.core.migrations import agree_ledgers, all_migrations, migrate, require_current, triggers_off
from arr_sql.core.secret_walk import parse_json
from arr_sql.core.statements import load
from arr_sql.core.table_rows import insert_rows, table_names, table_rows
from arr_sql.errors import InputError
from arr_sql.index.text_index import create_text_index, has_text_index, rebuild_text_index
from arr_sql.memory.store_copy import new_store, require_whole

_INT64 = 1 << 63
FORMAT, VERSION = "arr_sql export", 1
MANIFEST = "manifest.json"
Progress = Callable[[int, int], None]
# What some programs take for the end of a line: escaped, so that a line is a row for everybody.
_LINE_ENDS = {0x85: "\\u0085", 0x2028: "\\u2028", 0x2029: "\\u2029"}


def export_tables(connection: Connection) -> list[str]:
    """The tables that an export holds: all but the ledger that sqlite-utils keeps of migrations."""
    return [name for name in table_names(connection) if not name.startswith("_sqlite")]


def export_store(path: Path, folder: Path, progress: Progress = lambda done, total: None) -> dict[str, int]:
    """Write the tree into a new or empty folder; rows by table. ``progress`` is called with tables done.

    Its files may be read by whom the database may be read by, and by nobody else at any moment. Raises InputError when the
    folder holds something.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"'{folder}' is not an empty folder. Nothing is overwritten: name another one.")
    reader = open_reader(path)
    try:
        require_current(reader, path)
        (folder / "tables").mkdir(parents=True, exist_ok=True)
        # It holds the texts of all scopes: wherever it stands, no scope takes it for a source.
        (folder / ".arrignore").write_text("*\n", "utf-8", newline="\n")
        readable = path.stat().st_mode & 0o666 | 0o200
        listed: dict[str, dict[str, Any]] = {}
        with store_errors(path), read_transaction(reader):
            names = export_tables(reader)
            for number, name in enumerate(names):
                progress(number, len(names))
                listed[name] = _write_table(reader, name, folder, readable)
            progress(len(names), len(names))
    finally:
        reader.close()
    manifest = {
        "format": FORMAT, "version": VERSION,
        "migrations": {item.name: item.sha256 for item in all_migrations()}, "tables": listed,
    }  # fmt: skip
    # Last: a tree without it was not finished.
    (folder / MANIFEST).touch(readable)
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=2, sort_keys=True) + "\n", "utf-8", newline="\n")
    return {name: item["rows"] for name, item in listed.items()}


def _write_table(reader: Connection, name: str, folder: Path, readable: int) -> dict[str, Any]:
    digest, rows, file = hashlib.sha256(), 0, folder / "tables" / f"{name}.jsonl"
    file.touch(readable)
    with file.open("wb") as handle:
        for row in table_rows(reader, name):
            line = encode_row(row)
            digest.update(line)
            handle.write(line)
            rows += 1
    return {"rows": rows, "sha256": digest.hexdigest()}


def encode_row(row: dict[str, Any]) -> bytes:
    """One line: JSON with sorted keys, no spaces, letters as they are; BLOBs as ``{"base64": "..."}``."""
    values = {
        name: {"base64": base64.b64encode(value).decode()} if isinstance(value, bytes) else value for name, value in row.items()
    }  # fmt: skip
    text = json.dumps(values, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.translate(_LINE_ENDS).encode() + b"\n"


def decode_row(line: bytes) -> dict[str, Any]:
    """The row of one line. Raises ValueError for anything that :func:`encode_row` does not write, to the byte."""
    try:
        values = json.loads(line)
        if not isinstance(values, dict):
            raise ValueError("not a row")
        row = {
            name: base64.b64decode(value["base64"], validate=True) if isinstance(value, dict) else value
            for name, value in values.items()
        }
        if any(type(value) is bool or (type(value) is int and not -_INT64 <= value < _INT64) for value in row.values()):
            raise ValueError("a value that no column holds")
        if encode_row(row) != line:  # other spaces, a name twice, half a character, another end of line
            raise ValueError("not in the form of an export")
    except (KeyError, TypeError, RecursionError, binascii.Error) as error:
        raise ValueError("not a row") from error
    return row


def import_store(folder: Path, target: Path, progress: Progress = lambda done, total: None) -> dict[str, int]:
    """Make a new database file from an exported tree, checked like a backup; rows by table.

    Raises InputError when ``target`` exists, or when the tree is not one, was changed, or is of another schema;
    StoreDamaged when what it holds does not pass the checks (its audit chain included).
    """
    manifest = _read_manifest(folder)
    for name, item in sorted(manifest["tables"].items()):
        _require_unchanged(folder / "tables" / f"{name}.jsonl", item)
    with new_store(target) as made:
        made.touch((folder / MANIFEST).stat().st_mode & 0o666 | 0o200)  # readable for whom the tree is
        writer = open_writer(made, create=True)
        try:
            migrate(writer, made)
            if set(manifest["tables"]) != set(export_tables(writer)):
                odd = sorted(set(manifest["tables"]) ^ set(export_tables(writer)))
                raise InputError(f"'{folder}' has other tables than this program ({', '.join(odd)}). Export it again.")
            with store_errors(made):
                _fill(writer, made, folder, manifest["tables"], progress)
        finally:
            writer.close()
        require_whole(made, folder)
    return {name: item["rows"] for name, item in manifest["tables"].items()}


def _fill(writer: Connection, path: Path, folder: Path, tables: dict[str, Any], progress: Progress) -> None:
    writer.execute(
        "PRAGMA foreign_keys=OFF"
    )  # tables come by name, not in the order of their references: checked at the end
    with write_transaction(writer, path):
        writer.execute(load("remove_migration_records"))
        # Triggers judge what may happen next; these rows have happened, in an order that the tables alone do not keep.
        with triggers_off(writer):
            for number, name in enumerate(sorted(tables)):
                progress(number, len(tables))
                file = folder / "tables" / f"{name}.jsonl"
                try:
                    insert_rows(writer, name, _read_table(file))
                except sqlite3.DatabaseError as error:
                    raise InputError(
                        f"'{file}' has a row that does not fit the table '{name}' ({error}). Restore it, or export again."
                    ) from None
            progress(len(tables), len(tables))
        agree_ledgers(writer)
        if not has_text_index(writer):
            create_text_index(writer)
        rebuild_text_index(writer)


def _read_table(path: Path) -> Iterator[dict[str, Any]]:
    with path.open("rb") as handle:
        for number, line in enumerate(handle, 1):
            try:
                yield decode_row(line)
            except ValueError:
                raise InputError(
                    f"{path}:{number} is not a row of an export. Restore the file, or export again."
                ) from None


def _require_unchanged(path: Path, item: dict[str, Any]) -> None:
    """Before a row of it goes anywhere: is the file what the manifest says of it?"""
    digest, rows = hashlib.sha256(), 0
    try:
        with path.open("rb") as handle:
            while block := handle.read(1 << 20):
                digest.update(block)
                rows += block.count(b"\n")
    except FileNotFoundError:
        raise InputError(f"'{path}' is missing. Restore it, or export again.") from None
    if digest.hexdigest() != item["sha256"]:
        raise InputError(
            f"'{path}' is not what the manifest says: it was changed after the export. Restore it, or export again."
        )
    if rows != item["rows"]:
        raise InputError(
            f"'{path}' has {rows:,} rows, and the manifest says {item['rows']}. Restore both, or export again."
        )


def _read_manifest(folder: Path) -> dict[str, Any]:
    try:
        manifest = parse_json((folder / MANIFEST).read_text("utf-8"), f"'{folder / MANIFEST}'")
        is_ours = manifest["format"] == FORMAT
        migrations, version = dict(manifest["migrations"]), manifest["version"]
        for name, item in manifest["tables"].items():
            str(item["sha256"]), int(item["rows"])
            if not re.fullmatch(r"\w+", name):
                raise ValueError("no table's name")
    except FileNotFoundError:
        raise InputError(f"'{folder}' has no {MANIFEST}: it is no export, or one that was interrupted.") from None
    except (ValueError, KeyError, TypeError, AttributeError, OSError):
        is_ours, migrations, version = False, {}, None
    if not is_ours or version != VERSION:
        raise InputError(f"'{folder / MANIFEST}' is not the manifest of an export of version {VERSION}. Export again.")
    if migrations != {item.name: item.sha256 for item in all_migrations()}:
        raise InputError(
            f"'{folder}' was exported at another schema. Import it with the arr_sql that wrote it, then `arr db migrate`."
        )
    return dict(manifest)
