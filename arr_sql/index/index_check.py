"""Is the text index what analysing the content gives? Every occurrence of every term, read both ways.

The index is walked from end to end, and entered by each term as a search enters it: a damaged entrance page hides
postings that a walk still sees. FTS5's own notes (sizes, totals, settings) are compared too. Reads only.
"""

from __future__ import annotations

import json
import zlib
from collections import Counter
from collections.abc import Iterable, Sequence

from arr_sql.core.connection import Connection
from arr_sql.core.statements import load
from arr_sql.index.text_index import Table, Terms, indexed, read_hidden_rows, read_live_rows, terms_of
from arr_sql.index.text_segments import SETTINGS

REPAIR = "run `arr db rebuild`"
LOOKUP_BATCH = 2_000


def hash_term(term: str) -> int:
    """A 64-bit number for a term; sums of them compare bags of terms."""
    data = term.encode("utf-8", "surrogatepass")
    return (zlib.crc32(data) << 32) | zlib.adler32(data)


def _weight(column: str | None, occurrences: int, places: int, squares: int) -> int:
    """A number for how often a term occurs in a column and at which places."""
    weight = occurrences + 1_000_003 * places + 998_244_353 * squares
    return weight * {"heading": 7, "body": 1}.get(column or "", 13)  # None: a column that the table has not


def index_problems(connection: Connection, table: Table) -> list[str]:
    """What differs between the content and its index, each problem with its row and the repair."""
    statements = {
        "chunk": (load("read_chunk_occurrences"), load("read_chunk_lookups"), None,
                  load("read_chunk_totals"), load("read_chunk_config")),
        "memory": (load("read_memory_occurrences"), load("read_memory_lookups"), load("read_memory_sizes"),
                   load("read_memory_totals"), load("read_memory_config")),
    }  # fmt: skip
    occurrences, lookups, sizes, totals, config = statements[table]
    problems: list[str] = []
    expected: Counter[int] = Counter()
    by_term: dict[str, list[int]] = {}
    lengths: dict[int, tuple[int, ...]] = {}
    names = ("heading", "body") if table == "memory" else (None,)
    for row in read_live_rows(connection, table):
        terms = terms_of(row["heading"], row["content"])
        columns = [text.split() for text in indexed(table, row["scope_id"], terms)]
        lengths[row["id"]] = tuple(len(words) for words in columns)
        expected[row["id"]] = 0
        for name, words in zip(names, columns, strict=True):
            for place, word in enumerate(words):
                place = place if table == "memory" else 0  # the chunk index keeps none
                expected[row["id"]] += hash_term(word) * _weight(name, 1, place, place * place)
                total = by_term.setdefault(word, [0, 0])
                total[0] += 1
                total[1] += row["id"]
        problems += _noted_problem(table, row, terms)
    for row in read_hidden_rows(connection, table):
        problems += _noted_problem(table, row, terms_of(row["heading"], row["content"]))
    held: Counter[int] = Counter()
    for row in connection.execute(occurrences):
        held[row["doc"]] += hash_term(row["term"]) * _weight(
            row["col"], row["occurrences"], row["places"], row["squares"]
        )
    differing = {key for key in expected.keys() | held.keys() if expected[key] != held[key]}
    if sizes is not None:  # the chunk index keeps none
        noted = {row["id"]: tuple(varints(row["sizes"])) for row in connection.execute(sizes)}
        differing |= {key for key in lengths.keys() | noted.keys() if lengths.get(key) != noted.get(key)}
    problems += [f"{table} {key}: the index and the content differ; {REPAIR}" for key in sorted(differing)]
    if not differing:  # else these only say it again
        problems += _lookup_problems(connection, table, lookups, by_term)
        problems += _own_problems(connection, table, totals, config, lengths.values())
    return problems


def _noted_problem(table: Table, row: object, terms: Terms) -> list[str]:
    if terms.hash != row["terms_hash"]:  # type: ignore[index]
        return [f"{table} {row['id']}: its terms are not those that were indexed; {REPAIR}"]  # type: ignore[index]
    if (terms.n_heading, terms.n_body) != (row["n_heading_terms"], row["n_terms"]):  # type: ignore[index]
        return [f"{table} {row['id']}: its terms are counted otherwise; {REPAIR}"]  # type: ignore[index]
    return []


def _lookup_problems(connection: Connection, table: Table, statement: str, by_term: dict[str, list[int]]) -> list[str]:
    words = sorted(by_term)
    lost = 0
    for start in range(0, len(words), LOOKUP_BATCH):
        batch = words[start : start + LOOKUP_BATCH]
        found = {
            row["term"]: [row["occurrences"], row["docs"]]
            for row in connection.execute(statement, {"terms": json.dumps(batch)})
        }
        lost += sum(found.get(word) != by_term[word] for word in batch)
    return [f"{table} index: {lost} terms are not found by looking them up; {REPAIR}"] if lost else []


def _own_problems(
    connection: Connection, table: Table, totals: str, config: str, lengths: Iterable[tuple[int, ...]]
) -> list[str]:
    """FTS5's own totals and settings."""
    sizes = list(lengths)
    expected = [len(sizes), *(sum(column) for column in zip(*sizes, strict=True))]
    row = connection.execute(totals).fetchone()
    found = varints(row["totals"]) if row is not None else []
    # An empty index keeps its totals as zeros or not at all.
    same = found == expected or (not any(expected) and not any(found))
    settings = {row["name"]: row["value"] for row in connection.execute(config)}
    known = settings.pop("version", None) in (4, 5) and all(
        value in SETTINGS.get(name, ()) for name, value in settings.items()
    )
    return [
        *([] if same else [f"{table} index: its totals are not those of the content; {REPAIR}"]),
        *([] if known else [f"{table} index: its settings are not this program's; {REPAIR}"]),
    ]


def varints(data: Sequence[int]) -> list[int]:
    """The numbers in a BLOB of SQLite's variable-length integers."""
    numbers, value, length = [], 0, 0
    for byte in data:
        length += 1
        if length == 9:
            numbers.append((value << 8) | byte)
            value = length = 0
            continue
        value = (value << 7) | (byte & 0x7F)
        if byte < 0x80:
            numbers.append(value)
            value = length = 0
    return numbers if length == 0 else [*numbers, -1]
