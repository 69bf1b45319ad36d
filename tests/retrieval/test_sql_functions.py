"""The SQL functions that need no store, and how every one of them refuses wrong arguments."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arr_sql.core.analysis import analyse
from arr_sql.core.research_models import SCOPE_COLUMNS
from arr_sql.core.router_models import RRF_K
from arr_sql.retrieval.sql_functions import FUNCTIONS, SCOPE_VALUES, register
from tests.conftest import SCOPE
from tests.drivers import connect, each_driver

SCOPE_SQL = "arr_scope('vision', 'lumen', 'example.org/lumen', 'main', 'a100')"


def no_store() -> Any:
    """Functions of their arguments alone never ask for it; wrong arguments are refused before it is asked."""
    raise AssertionError("the store was asked")


@pytest.fixture
def connection(driver: str) -> Any:
    opened = connect(driver)
    register(opened, no_store)
    yield opened
    opened.close()


def value(connection: Any, expression: str, *values: Any) -> Any:
    return connection.execute(f"SELECT {expression}", values).fetchone()[0]


def test_the_scope_columns_are_those_of_a_scope() -> None:
    """Listed by hand, so that registering imports no model."""
    assert SCOPE_VALUES == SCOPE_COLUMNS


@each_driver
def test_terms_are_those_of_the_index(connection: Any) -> None:
    """In text order, repeats kept, both languages."""
    text = "Warmup 学习率 train_v2 warmup"
    assert json.loads(value(connection, "arr_terms(?)", text)) == list(analyse(text).terms)
    assert value(connection, "arr_terms('')") == "[]"


@each_driver
def test_scope_is_checked_and_trimmed(connection: Any) -> None:
    """The five values as one object, in order."""
    assert json.loads(value(connection, "arr_scope(' vision ', 'lumen', 'example.org/lumen', 'main', 'a100')")) == (
        SCOPE.bindings()
    )


@each_driver
def test_rrf(connection: Any) -> None:
    """1 / (k + rank); two firsts give 0.032787."""
    assert value(connection, "arr_rrf(1)") == 1 / (RRF_K + 1)
    assert round(value(connection, "arr_rrf(1) + arr_rrf(1, 60)"), 6) == 0.032787
    assert value(connection, "arr_rrf(3, 0)") == 1 / 3


@each_driver
def test_snippet_shows_the_lines_that_answer(connection: Any) -> None:
    """Three lines in a row around the best."""
    text = "\n".join(f"line {number}" for number in range(20)) + "\nthe warmup run diverged\nend"
    assert "the warmup run diverged" in value(connection, "arr_snippet(?, 'warmup')", text).split("\n")
    assert value(connection, "arr_snippet(?, 'warmup')", text).count("\n") == 2


@each_driver
def test_null_gives_null_where_there_is_a_value_to_work_on(connection: Any) -> None:
    """As SQL's own functions do; so a LEFT JOIN's missing rank stays missing."""
    row = connection.execute(
        "SELECT arr_terms(NULL), arr_rrf(NULL), arr_rrf(NULL, 5), arr_snippet(NULL, 'a')"
    ).fetchone()
    assert tuple(row) == (None, None, None, None)


# Each wrong call, and what its message must hold beside the function's name.
WRONG = [
    ("arr_terms(5)", "argument text is 5; it must be text"),
    ("arr_terms(x'00ff')", "argument text is a BLOB of 2 bytes"),
    ("arr_scope('a', 'b', 'c', 'd', ' ')", "experiment_environment is blank"),
    ("arr_scope('a', 'b', 'c', NULL, 'e')", "argument branch is NULL"),
    ("arr_scope('a', 'b' || char(7), 'c', 'd', 'e')", "project_id holds a control character"),
    ("arr_scope(hex(zeroblob(101)), 'b', 'c', 'd', 'e')", "team_id has 202 characters"),
    ("arr_rrf(0)", "argument rank is 0; it must be a whole number from 1"),
    ("arr_rrf(1.5)", "argument rank is 1.5"),
    ("arr_rrf('1')", "argument rank is '1'"),
    ("arr_rrf(1, -1)", "argument k is -1"),
    ("arr_snippet('a', NULL)", "argument query is NULL"),
    (f"arr_search(1, {SCOPE_SQL})", "argument query is 1"),
    ("arr_search('a', NULL)", "argument scope is NULL; make it with arr_scope("),
    ("arr_search('a', 'main')", "argument scope is not a JSON object with the five values"),
    ("arr_search('a', '{\"branch\": \"main\"}')", "argument scope is not a JSON object with the five values"),
    ("arr_search('a', '[[[' || hex(zeroblob(9)))", "argument scope is not a JSON object"),
    (f"arr_search('a', json_set({SCOPE_SQL}, '$.branch', ''))", "argument scope: branch is blank"),
    (f"arr_search('a', json_set({SCOPE_SQL}, '$.branch', 7))", "argument scope: branch is missing or not text"),
    (f"arr_search('a', {SCOPE_SQL}, 0)", "argument k is 0; it must be a whole number from 1 to 1,000"),
    (f"arr_search('a', {SCOPE_SQL}, 1001)", "argument k is 1001"),
    (f"arr_bm25('a', {SCOPE_SQL}, '5')", "argument k is '5'"),
    (f"arr_bm25(NULL, {SCOPE_SQL})", "argument query is NULL"),
    (f"arr_vector('a', {SCOPE_SQL}, 2.0)", "argument k is 2.0"),
    ("arr_explain(5)", "argument retrieval_id is 5"),
    ("arr_explain('r1', 'here')", "argument scope is not a JSON object"),
]  # fmt: skip


@each_driver
@pytest.mark.parametrize(("call", "said"), WRONG, ids=[call for call, _ in WRONG])
def test_a_wrong_argument_is_an_sql_error_with_both_names(connection: Any, call: str, said: str) -> None:
    """The function and the argument are named, whatever the driver does with a Python exception."""
    with pytest.raises(connection.OperationalError) as raised:
        value(connection, call)
    name = call.partition("(")[0]
    assert str(raised.value).startswith(f"{name}(): ") and said in str(raised.value)


@each_driver
def test_too_few_and_too_many_arguments_are_sqlites_own_error(connection: Any) -> None:
    """It names the function."""
    for call in ("arr_terms()", "arr_scope('a')", "arr_search('a')", "arr_rrf(1, 2, 3)", "arr_verify_audit(1)"):
        with pytest.raises(
            connection.OperationalError, match=f"wrong number of arguments to function {call.partition('(')[0]}"
        ):
            value(connection, call)


@each_driver
def test_exactly_the_deterministic_ones_may_stand_in_an_index(connection: Any) -> None:
    """SQLite itself refuses a function in an index that is not marked deterministic."""
    connection.execute("CREATE TABLE t (a, b, c, d, e)")
    for function in FUNCTIONS:
        arguments = ", ".join("abcde"[: len(function.arguments)])
        statement = f"CREATE INDEX i_{function.name} ON t ({function.name}({arguments}), a)"
        if function.is_deterministic:
            connection.execute(statement)
        else:
            with pytest.raises(connection.OperationalError, match="non-deterministic"):
                connection.execute(statement)


@given(text=st.text(max_size=60), query=st.text(max_size=20))
def test_no_text_makes_them_fail(text: str, query: str) -> None:
    """Any text that SQLite can hold gives JSON and a part of itself."""
    opened = connect("sqlite3")
    register(opened, no_store)
    stored = text.encode("utf-8", "replace").decode()
    asked = query.encode("utf-8", "replace").decode()
    terms, snippet = opened.execute("SELECT arr_terms(?), arr_snippet(?, ?)", (stored, stored, asked)).fetchone()
    opened.close()
    assert json.loads(terms) == list(analyse(stored).terms) and snippet in stored
