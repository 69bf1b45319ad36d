"""Which rules the rows of the line index rest on: a hash of the code that has them.

What a row says of a file follows from how bytes become text, which lines are withheld, what is left out, how text is
folded and sieved. When any of that changes, by a release or by an edit, the hash is another one, rows that were made before
are read as absent, and the next sync makes them anew. Nobody has to remember to raise a number.

Held by ``tests/index/test_line_rules.py``: no module that one of these imports is missing.
"""

from __future__ import annotations

import unicodedata
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from pkgutil import get_data

RULES = (
    "arr_sql.core.canonical", "arr_sql.core.credential_shapes", "arr_sql.core.decode", "arr_sql.core.folder_access",
    "arr_sql.core.ignore", "arr_sql.core.later", "arr_sql.core.legacy_encodings", "arr_sql.core.legacy_letters",
    "arr_sql.core.line_fold", "arr_sql.core.line_sieve", "arr_sql.core.redaction", "arr_sql.core.rooted",
    "arr_sql.core.walk", "arr_sql.errors", "arr_sql.index.line_rows",
)  # fmt: skip
"""The modules whose code decides what a row says."""


@cache
def made_by() -> str:
    """What stands in the column ``made_by``: the hash, the version of Unicode, and that of the library for ignore rules."""
    hashed = sha256()
    for name in RULES:
        hashed.update(_code(name))
    return f"{hashed.hexdigest()[:16]} {unicodedata.unidata_version} {version('pathspec')}"


def _code(name: str) -> bytes:
    """The file of a module, from a folder or a zip file."""
    package, _, path = name.partition(".")
    data = get_data(package, path.replace(".", "/") + ".py")
    if data is None:
        raise ImportError(f"The module '{name}' has no file. Install arr-sql again.")
    return data
