"""Which reader reads which file: by suffix, or by name for files such as ``README`` and ``Makefile``.

Another package adds a format by an entry point in the group ``arr_sql.readers`` whose object is a :class:`Reader` or a
class that makes one without arguments. Entry points are loaded at first use. They add suffixes and never replace a
built-in reader; one that fails is named in :func:`reader_warnings` and costs only itself.
"""

from __future__ import annotations

import re
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points

from .base import (
    UNREADABLE,
    UNREADABLE_CODES,
    BytesReader,
    GrammarReader,
    PasswordReader,
    Piece,
    Reader,
    ReadResult,
    TextReader,
    Unreadable,
)  # fmt: skip
from .bibtex import BibtexReader
from .code import CodeReader
from .config import ConfigReader
from .html import HtmlReader
from .latex import LatexReader
from .markdown import MarkdownReader
from .notebook import NotebookReader
from .pdf_reader import PdfReader, has_pdfium
from .python_code import PythonReader
from .ris import RisReader
from .table import TableReader
from .text import PlainTextReader

ENTRY_POINT_GROUP = "arr_sql.readers"

_BUILT_IN: tuple[Reader, ...] = (
    MarkdownReader(), NotebookReader(), PdfReader(), HtmlReader(), LatexReader(), BibtexReader(), RisReader(), TableReader(),
    PythonReader(), ConfigReader(), CodeReader(), PlainTextReader(),
)  # fmt: skip
READER_SUFFIXES: frozenset[str] = frozenset().union(*(reader.suffixes for reader in _BUILT_IN))

_ROTATED_LOG = re.compile(r"\.log\.[\d._-]+$")  # app.log.1, app.log.2024-01-01
_BY_SUFFIX: dict[str, Reader] = {}
_BY_NAME: dict[str, Reader] = {}
for _reader in reversed(_BUILT_IN):  # the first in the list wins a suffix that two could read
    _BY_SUFFIX.update(dict.fromkeys(_reader.suffixes, _reader))
    if isinstance(_reader, TextReader):
        _BY_NAME.update(dict.fromkeys(_reader.file_names, _reader))


def reader_for(path: str) -> Reader | None:
    """The reader for ``path``, or None: the caller counts the file as ``unknown_format``."""
    name = path.replace("\\", "/").rpartition("/")[2].lower()
    if name in _BY_NAME:
        return _BY_NAME[name]
    stem, dot, ending = name.rpartition(".")
    suffix = dot + ending if stem else ""
    found = _BY_SUFFIX.get(suffix) or _load_plugins()[0].get(suffix)
    if found is None and _ROTATED_LOG.search(name):
        return _BY_SUFFIX[".log"]
    return found


def registered_readers() -> tuple[Reader, ...]:
    """Built-in readers first, then those of other packages, each once."""
    return (*_BUILT_IN, *dict.fromkeys(_load_plugins()[0].values()))


def reader_warnings() -> tuple[str, ...]:
    """What went wrong while loading readers of other packages."""
    return _load_plugins()[1]


def is_worth_retrying(code: str, *, has_passwords: bool = False) -> bool:
    """Whether a file that was refused with ``code`` may be read now although it is the same: what it lacked is here."""
    if code == "needs_extra_pdf":
        return has_pdfium()
    return code == "encrypted" and has_passwords


def load_entry_points(points: list[EntryPoint]) -> tuple[dict[str, Reader], tuple[str, ...]]:
    """Suffix to reader, and one warning for each entry point that gave none."""
    found: dict[str, Reader] = {}
    warnings: list[str] = []
    for point in sorted(points, key=lambda item: (item.name, item.value)):
        try:
            loaded = point.load()
            reader = loaded() if isinstance(loaded, type) else loaded
        except Exception as error:  # noqa: BLE001 - foreign code; whatever it raises costs only itself
            warnings.append(f"reader_failed: {point.name}: {type(error).__name__}")
            continue
        if not isinstance(reader, Reader):
            warnings.append(f"reader_failed: {point.name}: not a Reader")
            continue
        for suffix in sorted(reader.suffixes):
            if suffix in _BY_SUFFIX or suffix in found:
                warnings.append(f"reader_ignored: {point.name}: {suffix} has a reader")
            else:
                found[suffix] = reader
    return found, tuple(warnings)


@lru_cache(maxsize=1)
def _load_plugins() -> tuple[dict[str, Reader], tuple[str, ...]]:
    return load_entry_points(list(entry_points(group=ENTRY_POINT_GROUP)))


__all__ = [
    "ENTRY_POINT_GROUP",
    "READER_SUFFIXES",
    "UNREADABLE",
    "UNREADABLE_CODES",
    "BytesReader",
    "GrammarReader",
    "PasswordReader",
    "Piece",
    "ReadResult",
    "Reader",
    "Unreadable",
    "is_worth_retrying",
    "load_entry_points",
    "reader_for",
    "reader_warnings",
    "registered_readers",
]
