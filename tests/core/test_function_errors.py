"""A Python function that fails inside SQL says why, on every driver; other functions' errors stay as they are."""

from __future__ import annotations

import pickle
import threading
from typing import Any

import pytest

from arr_sql.core.function_errors import LOST, add_function
from arr_sql.errors import InputError
from tests.drivers import connect, each_driver


def refuse(value: Any) -> Any:
    """Refuses 0, breaks on 1, gives back the rest."""
    if value == 0:
        raise InputError("argument value is 0 数.")
    return 1 / (value - 1) if value == 1 else value


def failed(connection: Any, statement: str) -> str:
    with pytest.raises(connection.OperationalError) as raised:
        connection.execute(statement).fetchall()
    assert raised.value.args == (str(raised.value),)
    return str(raised.value)


@each_driver
def test_a_refusal_names_the_function_and_says_its_message(driver: str) -> None:
    """From execute(), from fetching a later row, and through pickle."""
    connection = connect(driver)
    add_function(connection, "f", 1, refuse)
    assert failed(connection, "SELECT f(0)") == "f(): argument value is 0 数."
    assert failed(connection, "SELECT f(column1) FROM (VALUES (5), (0))") == "f(): argument value is 0 数."
    error = connection.OperationalError("f(): argument value is 0 数.")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
    connection.close()


@each_driver
def test_a_fault_is_named_too(driver: str) -> None:
    """Not a bare sentence of the driver, and not taken for the caller's mistake."""
    connection = connect(driver)
    add_function(connection, "f", 1, refuse)
    assert failed(connection, "SELECT f(1)") == "f(): internal fault (ZeroDivisionError: division by zero)."
    connection.close()


@each_driver
def test_every_other_error_stays_as_it_was(driver: str) -> None:
    """Another package's function, SQLite's own messages, and errors made by hand: also right after one of ours failed."""
    connection = connect(driver)
    add_function(connection, "f", 1, refuse)
    connection.create_function("theirs", 0, lambda: 1 / 0)
    failed(connection, "SELECT f(0)")
    assert failed(connection, "SELECT theirs()") == LOST
    assert failed(connection, "SELECT nosuch()") == "no such function: nosuch"
    assert failed(connection, "SELECT f(1, 2)") == "wrong number of arguments to function f()"
    assert str(connection.OperationalError(LOST)) == LOST
    assert connection.execute("SELECT f(7)").fetchone()[0] == 7
    connection.close()


@each_driver
def test_a_success_clears_what_an_earlier_call_left(driver: str) -> None:
    """One statement in which ours works and another's fails afterwards blames nobody."""
    connection = connect(driver)
    add_function(connection, "f", 1, refuse)
    connection.create_function("theirs", 1, lambda value: 1 // 0)
    failed(connection, "SELECT f(0)")
    assert failed(connection, "SELECT theirs(f(5))") == LOST
    connection.close()


@each_driver
def test_threads_keep_their_messages_apart(driver: str) -> None:
    """Eight threads that fail at once each get their own number."""
    wrong: list[str] = []

    def work(number: int) -> None:
        def fail(value: int) -> None:
            raise InputError(f"number {value}")

        connection = connect(driver)
        add_function(connection, "f", 1, fail)
        for _ in range(50):
            try:
                connection.execute("SELECT f(?)", (number,)).fetchall()
            except connection.OperationalError as error:
                if str(error) != f"f(): number {number}":
                    wrong.append(str(error))
        connection.close()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@each_driver
def test_the_error_class_is_changed_once(driver: str) -> None:
    """A thousand connections don't stack a thousand layers."""
    connection = connect(driver)
    add_function(connection, "f", 1, refuse)
    before = connection.OperationalError.__init__
    for _ in range(3):
        add_function(connection, "f", 1, refuse)
    assert connection.OperationalError.__init__ is before
    connection.close()
