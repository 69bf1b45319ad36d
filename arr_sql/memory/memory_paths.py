"""Files of memories on disk: reading what a person named, writing whole files or none.

A path is a file of JSON lines, a Markdown file, or a folder whose ``*.md`` files are read (not its subfolders; no
symbolic link is followed inside it).
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from arr_sql.core.research_models import ResearchMemory
from arr_sql.errors import InputError
from arr_sql.memory.memory_files import FileRecord, Problem, file_name, from_jsonl, from_markdown, to_markdown

MARKDOWN_SUFFIXES = (".md", ".markdown")


def read_paths(paths: Sequence[Path]) -> tuple[list[FileRecord], list[Problem]]:
    """The memories of all files in order, and what is wrong with the others. Raises InputError for a path that is no file."""
    records: list[FileRecord] = []
    problems: list[Problem] = []
    for path in paths:
        if path.is_dir():
            files = sorted(
                entry
                for entry in path.iterdir()
                if entry.suffix in MARKDOWN_SUFFIXES and entry.is_file() and not entry.is_symlink()
            )
            if not files:
                raise InputError(
                    f"The folder '{path}' holds no Markdown file. Name a folder that `arr memory export` wrote."
                )
        elif path.is_file():
            files = [path]
        else:
            raise InputError(f"'{path}' is no file and no folder. Name a .jsonl file, a .md file or a folder of them.")
        for file in files:
            found, wrong = read_text(file.read_bytes(), str(file), file.suffix in MARKDOWN_SUFFIXES)
            records += found
            problems += wrong
    return records, problems


def read_text(data: bytes, path: str, is_markdown: bool) -> tuple[list[FileRecord], list[Problem]]:
    """The memories of one file's bytes, which must be UTF-8 (a byte order mark is passed over)."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        return [], [Problem(path, line, "this line is not UTF-8. Convert the file first.")]
    return from_markdown(text, path) if is_markdown else from_jsonl(text, path)


def write_file(path: Path, text: str, *, replace: bool) -> None:
    """Write a whole file. Raises InputError when it is there and ``replace`` is not given."""
    if path.exists() and not replace:
        raise InputError(f"'{path}' exists already. Name another file, or give --replace.")
    if not path.parent.is_dir():
        raise InputError(f"There is no folder '{path.parent}'. Make it first.")
    beside = path.with_name(f".arr-{os.getpid()}-{path.name[-100:]}")
    try:
        with open(beside, "x", encoding="utf-8", newline="") as file:
            file.write(text)
        beside.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            beside.unlink()
        raise


def write_folder(folder: Path, memories: Sequence[ResearchMemory], *, replace: bool) -> list[Path]:
    """One Markdown file a memory. With ``replace`` files of the same names are written anew; others are left alone.

    Raises InputError when the folder holds anything and ``replace`` is not given.
    """
    if folder.exists() and not folder.is_dir():
        raise InputError(f"'{folder}' is a file. Name a folder.")
    if folder.is_dir() and any(folder.iterdir()) and not replace:
        raise InputError(f"The folder '{folder}' is not empty. Name another one, or give --replace.")
    texts: Mapping[str, str] = {file_name(memory.memory_id): to_markdown(memory) for memory in memories}
    if len(texts) != len(memories):
        raise InputError("Two memories would have the same file name. Export them as JSON lines.")
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        write_file(folder / name, text, replace=True)
    return [folder / name for name in texts]
