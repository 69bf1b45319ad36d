"""The folder of statements: each compiles, explains itself, binds its scope, and finds its rows by an index."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from arr_sql.core.connection import Connection, open_writer
from arr_sql.core.migrations import migrate, split_statements
from arr_sql.core.research_models import SCOPE_COLUMNS
from arr_sql.core.statements import SQL_FOLDER, load
from arr_sql.index.text_index import create_text_index

NAMES = sorted(path.stem for path in SQL_FOLDER.glob("*.sql"))
READS = [name for name in NAMES if name.startswith(("search_", "read_"))]
VERBS = {"add", "build", "check", "drop", "read", "remove", "search", "set"}

WHOLE_TABLE = {
    "read_all_chunk_spans": "audit verify reads every chunk's span",
    "read_all_left_out": "audit verify reads every list",
    "read_all_models": "a handful of models a file",
    "read_all_retrievals": "audit verify reads every record of the file",
    "read_all_roots": "audit verify reads every root",
    "read_all_scopes": "audit verify reads every scope",
    "read_all_sources": "audit verify reads every source",
    "read_all_memory_vectors": "audit verify hashes every vector",
    "read_all_vectors": "audit verify hashes every vector",
    "read_approval_decisions": "audit verify reads every decision",
    "read_approval_packages": "audit verify reads every package",
    "read_audit_chain": "audit verify reads the whole chain",
    "read_audit_head": "LIMIT 1 from the end of the primary key, and one count",
    "read_chunk_config": "FTS5's own settings",
    "read_foreign_evidence": "audit verify reads every item",
    "read_foreign_index_version": "two rows a scope; asked once when a writer opens",
    "read_forget_receipts": "audit verify reads every receipt",
    "read_forget_scans": "audit verify reads every scan",
    "read_hidden_chunks": "a rebuild and db check read every text",
    "read_hidden_memories": "a rebuild and db check read every text",
    "read_index_bytes": "an evaluation reports the size of the whole file's indexes",
    "read_index_rows": "db check reads two rows a scope",
    "read_line_index_counts": "db check reads one row a scope",
    "read_line_index_rows": "db check reads every row",
    "read_last_event": "LIMIT 1 from the end of the primary key",
    "read_ledger": "one row a migration",
    "read_live_chunks": "a rebuild and db check read every live text",
    "read_live_memories": "a rebuild and db check read every live text",
    "read_memory_config": "FTS5's own settings",
    "read_memory_sizes": "db check compares FTS5's sizes with the content",
    "read_memory_versions": "audit verify reads every version",
    "read_migrations": "one row a migration",
    "read_retrieval_scopes": "one row a scope; arr_explain with a retrieval's id and no scope",
    "read_row_ids": "audit verify reads every row number",
    "read_scopes": "the operator's list of scopes",
    "read_snapshot_witness": "LIMIT 1 from the end of the primary key",
    "read_source_versions": "audit verify reads every version",
    "read_vector_state": "one row a model that the file has ever held",
    "read_verification_receipts": "audit verify reads every receipt",
    "read_wrong_stats": "audit verify reads the cache of every file",
}
WHOLE_INDEX = {
    "read_chunk_occurrences": "db check compares the whole index with its content",
    "read_chunk_vocabulary": "a forgotten text's bytes are accounted for by every term that remains",
    "read_memory_vocabulary": "a forgotten text's bytes are accounted for by every term that remains",
    "read_memory_occurrences": "db check compares the whole index with its content",
}
ONE_ROW = {
    "read_case": "ids are unique among a scope's live memories",
    "read_chunk": "ids are unique among a scope's live chunks",
    "read_chunk_occurrences": "summed into a counter; the order of half a million rows would only cost",
    "read_chunk_totals": "the primary key",
    "read_embedding_model": "fingerprints are unique",
    "read_event_hash": "the primary key",
    "read_evidence_row": "two aggregates",
    "read_last_forget_seq": "one aggregate",
    "read_last_retrieval_seq": "one value",
    "read_last_scope_seq": "one aggregate",
    "read_line_index": "the five values are unique",
    "read_line_index_state": "the five values are unique",
    "read_memory": "ids are unique among a scope's live memories",
    "read_memory_occurrences": "summed into a counter",
    "read_next_chunk_row": "one aggregate",
    "read_memory_totals": "the primary key",
    "read_missing_vectors": "one aggregate",
    "read_model_row": "fingerprints are unique",
    "read_root_row": "the primary key",
    "read_scope": "the five values are unique",
    "read_scope_values": "the primary key",
    "read_snapshot_witness": "one value",
    "read_source_version": "the primary key",
    "read_vector_revision": "the five values are unique",
    "read_status": "the five values are unique",
}
# The last column of an ordering: what is unique within what the statement selects.
UNIQUE_ENDS = {
    "chunk_id", "experiment_environment", "fingerprint", "id", "key", "memory_id", "name", "number", "path", "path_in_root", "rank",
    "scope_seq", "seq", "term", "value", "rowid", "word", "chunk",
}  # fmt: skip
KEYWORDS = {
    "ALL", "AND", "AS", "ASC", "BEGIN", "BETWEEN", "BY", "CASE", "COLLATE", "CONFLICT", "CREATE", "CROSS", "DEFAULT",
    "DELETE", "DESC", "DISTINCT", "DO", "DROP", "ELSE", "END", "ESCAPE", "EXCEPT", "EXISTS", "FROM", "GLOB", "GROUP",
    "HAVING", "IF", "IN", "INSERT", "INTO", "IS", "JOIN", "LEFT", "LIKE", "LIMIT", "MATERIALIZED", "NOT", "NOTHING",
    "NULL", "ON", "OR", "ORDER", "OVER", "PARTITION", "SELECT", "SET", "TABLE", "THEN", "UNION", "UPDATE", "USING",
    "VALUES", "VIRTUAL", "WHEN", "WHERE", "WITH",
}  # fmt: skip


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Connection, Connection]]:
    """Two fresh migrated files: one with the text index, one without (for the statements that build it)."""
    connections = []
    for name in ("indexed", "bare"):
        path = tmp_path_factory.mktemp("statements") / f"{name}.db"
        connection = open_writer(path, create=True)
        migrate(connection, path)
        connections.append(connection)
    create_text_index(connections[0])
    yield connections[0], connections[1]
    for connection in connections:
        connection.close()


def without_comments(sql: str) -> str:
    """The statement without comments, string contents and quoted names."""
    return re.sub(r"--[^\n]*|'(?:[^']|'')*'|\"[^\"]*\"", " ", sql)


def parameters(name: str) -> set[str]:
    return set(re.findall(r":([a-z_][a-z_0-9]*)", without_comments(load(name))))


def explain(files: tuple[Connection, Connection], name: str, how: str) -> list[tuple[object, ...]]:
    sql = load(name)
    connection = files[1] if "CREATE VIRTUAL" in sql else files[0]
    bound = dict.fromkeys(parameters(name), 1)
    return [tuple(row) for row in connection.execute(f"{how} {sql}", bound)]


def test_the_folder_holds_what_the_tables_here_speak_of() -> None:
    """Each name in the lists of exceptions is a statement, so that no exception outlives its reason."""
    listed = {*WHOLE_TABLE, *WHOLE_INDEX, *ONE_ROW}
    assert (listed - set(NAMES), len(NAMES) > 70, {name.split("_")[0] for name in NAMES}) == (set(), True, VERBS)


@pytest.mark.parametrize("name", NAMES)
def test_each_compiles_on_a_fresh_file(files: tuple[Connection, Connection], name: str) -> None:
    """EXPLAIN compiles the statement against a fresh migrated file with the text index."""
    assert explain(files, name, "EXPLAIN")


@pytest.mark.parametrize("name", NAMES)
def test_each_is_one_statement_that_says_what_it_answers(name: str) -> None:
    """A file opens with a comment of at least a few words and holds exactly one statement, ended by a semicolon."""
    sql = load(name)
    first = sql.splitlines()[0]
    assert re.match(r"-- [A-Z]\S*( \S+){2,}", first), first
    assert (len(list(split_statements(sql))), sql.endswith(";\n"), "\t" in sql) == (1, True, False)


@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith("search_")])
def test_each_search_binds_all_five_scope_values(name: str) -> None:
    """A search compares every one of the five scope columns with its own parameter and takes no scope id."""
    sql = without_comments(load(name))
    unbound = [column for column in SCOPE_COLUMNS if not re.search(rf"\b{column} = :{column}\b", sql)]
    assert (unbound, "scope_id" in parameters(name)) == ([], False)


@pytest.mark.parametrize("name", NAMES)
def test_keywords_are_upper_case_and_every_column_is_named(name: str) -> None:
    """Keywords stand out from names, and no statement selects ``*``."""
    sql = without_comments(load(name))
    lower = [word for word in re.findall(r"(?<![:.\w])[a-z]+\b(?!\.)", sql) if word.upper() in KEYWORDS]
    assert (lower, re.findall(r"SELECT (?:\w+\.)?\*", sql)) == ([], [])


def outer_order(sql: str) -> str | None:
    """The ordering of the outermost SELECT, None when it has none."""
    depth, outer = 0, ""
    for character in without_comments(sql):
        depth -= character == ")"
        outer += character if depth == 0 else ""
        depth += character == "("
    found = re.search(r"ORDER BY (.+?)(?:LIMIT .+)?;", outer.rpartition("SELECT")[2], re.DOTALL)
    return found and found[1].strip()


@pytest.mark.parametrize("name", READS)
def test_each_read_of_several_rows_has_a_total_order(name: str) -> None:
    """A statement that can give several rows orders them, and its ordering ends in a unique column."""
    order = outer_order(load(name))
    if order is None:
        assert name in ONE_ROW or re.search(r"LIMIT 1\s*;", load(name)), "no ORDER BY"
        return
    last = order.split(",")[-1].split()[0].rpartition(".")[2]
    assert last in UNIQUE_ENDS, order


# --- Plans ------------------------------------------------------------------------------------------------------------


def aliases(name: str) -> dict[str, set[str]]:
    """Which tables each alias of a statement stands for."""
    found: dict[str, set[str]] = defaultdict(set)
    for table, alias in re.findall(r"\b(?:FROM|JOIN) ([a-z_]+) AS ([a-z_]+)", without_comments(load(name))):
        found[alias].add(table)
    return found


def scans(files: tuple[Connection, Connection], name: str) -> list[str]:
    """The lines of the plan that walk something from its first row to its last."""
    return [str(row[3]) for row in explain(files, name, "EXPLAIN QUERY PLAN") if str(row[3]).startswith("SCAN ")]


def tables(files: tuple[Connection, Connection]) -> tuple[set[str], set[str]]:
    """Ordinary tables and virtual tables of the file."""
    rows = files[0].execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'").fetchall()
    virtual = {row["name"] for row in rows if (row["sql"] or "").startswith("CREATE VIRTUAL")}
    return {row["name"] for row in rows} - virtual, virtual


def index_number(line: str) -> int:
    """What ``fts5vocab`` noted about how it will be entered."""
    return int(line.rpartition("VIRTUAL TABLE INDEX ")[2].partition(":")[0])


def entrances(files: tuple[Connection, Connection]) -> tuple[int, int]:
    """The bits that say that a term is given, and that it is between two; SQLite 3.41 moved them (0x1 to 0x100)."""
    numbers = [
        index_number(
            str(files[0].execute(f"EXPLAIN QUERY PLAN SELECT v.doc, v.term FROM chunk_term AS v {where}").fetchone()[3])
        )
        for where in ("WHERE v.term = 'x'", "WHERE v.term > 'x' AND v.term < 'y'", "")
    ]
    return numbers[0] & ~numbers[2], numbers[1] & ~numbers[2]


def is_entered(line: str, bits: tuple[int, int]) -> bool:
    """Does this line of a plan enter the vocabulary by a term, or at the first of a few that begin alike?"""
    return any(index_number(line) & wanted == wanted for wanted in bits)


@pytest.mark.parametrize("name", READS)
def test_no_read_scans_an_ordinary_table_whole(files: tuple[Connection, Connection], name: str) -> None:
    """A question of one scope costs what that scope holds: only listed statements of the whole file scan a table."""
    ordinary, _ = tables(files)
    names = aliases(name)
    lines = [line.split()[1] for line in scans(files, name) if " VIRTUAL TABLE " not in line]
    scanned = {table for alias in lines for table in names.get(alias, {alias}) & ordinary}
    if name in WHOLE_TABLE:
        assert scanned, "listed in WHOLE_TABLE, but its plan scans no table"
    else:
        assert scanned == set()


@pytest.mark.parametrize("name", READS)
def test_no_read_walks_the_text_index_without_a_term(files: tuple[Connection, Connection], name: str) -> None:
    """The vocabulary of the text index is only entered by term: without one, the index of all scopes would be read."""
    _, virtual = tables(files)
    names = aliases(name)
    lines = [line for line in scans(files, name) if names.get(line.split()[1], set()) & virtual]
    walked = [line for line in lines if not is_entered(line, entrances(files))]
    if name in WHOLE_INDEX:
        assert walked, "listed in WHOLE_INDEX, but its plan enters by term"
    else:
        assert walked == []


def test_the_plan_tests_see_a_scan(files: tuple[Connection, Connection]) -> None:
    """The wording of plans that the tests above look for is the wording of this SQLite."""
    plan = [
        str(row[3]) for row in files[0].execute("EXPLAIN QUERY PLAN SELECT c.id FROM chunk AS c WHERE c.content = 'x'")
    ]
    bits = tuple(bin(wanted).count("1") for wanted in entrances(files))
    assert (plan[0].split()[:2], bits) == (["SCAN", "c"], (1, 2))


# --- Who uses them ----------------------------------------------------------------------------------------------------


def modules() -> dict[str, ast.Module]:
    package = SQL_FOLDER.parent
    return {
        path.relative_to(package).as_posix(): ast.parse(path.read_text("utf-8"))
        for path in sorted(package.rglob("*.py"))
    }


def loaded(tree: ast.Module) -> set[str]:
    """The names that a module hands to ``load``: as a constant, or through the loop that runs over constants."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "load"):
            continue
        (argument,) = node.args
        if isinstance(argument, ast.Constant):
            names.add(argument.value)
            continue
        assert isinstance(argument, ast.Name), ast.unparse(node)
        loops = [
            loop for loop in ast.walk(tree)
            if isinstance(loop, ast.For) and isinstance(loop.target, ast.Name) and loop.target.id == argument.id
            and any(inner is node for inner in ast.walk(loop))
        ]  # fmt: skip
        assert loops, f"{ast.unparse(node)} is not inside a loop over names"
        names.update(item.value for item in ast.walk(loops[-1].iter) if isinstance(item, ast.Constant))
    return names


def test_each_is_loaded_in_exactly_one_module_and_none_is_missing() -> None:
    """A statement belongs to one module, every name that is loaded exists, and no file lies unused."""
    users: dict[str, set[str]] = defaultdict(set)
    for module, tree in modules().items():
        for name in loaded(tree):
            users[name].add(module)
    several = {name: sorted(where) for name, where in users.items() if len(where) > 1}
    assert (several, sorted(set(users) - set(NAMES)), sorted(set(NAMES) - set(users))) == ({}, [], [])


def test_python_holds_no_other_statement() -> None:
    """No SQL that reads or changes a table hides in Python: only pragmas, transactions and the probe of a file."""
    sql = re.compile(r"\s*(SELECT|INSERT|UPDATE|DELETE|WITH|REPLACE|CREATE|DROP|ALTER)\s")
    allowed = {"SELECT count(*) FROM sqlite_master", "SELECT vec_version()", "CREATE VIRTUAL TABLE t USING fts5(x)"}
    found = {
        (module, argument.value)
        for module, tree in modules().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr.startswith("execute")
        for argument in node.args[:1]
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str) and sql.match(argument.value)
    }
    assert {value for _, value in found} - allowed == set()


def test_a_missing_statement_says_which_file() -> None:
    """Loading a name that was not shipped raises with the path."""
    with pytest.raises(FileNotFoundError, match=re.escape(str(Path("sql", "read_nothing.sql")))):
        load("read_nothing")
