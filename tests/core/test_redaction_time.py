"""A line of any length takes time in proportion to it: doubling a hostile line may not quadruple the time."""

from __future__ import annotations

import gc
import time

import pytest

from arr_sql.core.redaction import redact, withhold_lines

BEGIN = "-----BEGIN " + "PRIVATE KEY-----"
HOSTILE = [
    "a", "password", "password=", "token: ", 'api_key="', "eyJ", "eyJaaaaaaaaa.eyJaaaaaaaaa", "a://", "abcdefghijk://b:c",
    "password" + " " * 20, "sk-a-", "xoxb-", "curl -u a", "login password ", "authorization: bearer ", BEGIN, BEGIN + "\n",
    "--password ", "password=${", "password='{a", "secret_", "authAuth", "AKIA", "token: a b c d e f ", "密码", "İ key\n",
    "password\\", "1234567890:AA", "password\n", "with password ",
]  # fmt: skip


def seconds(text: str) -> float:
    """Of the processor's, without collections of garbage: one takes as long as the objects of all tests before are many."""
    gc.disable()
    try:
        start = time.process_time()
        withhold_lines(text)
        return time.process_time() - start
    finally:
        gc.enable()


@pytest.mark.parametrize("piece", HOSTILE)
def test_time_grows_with_length_only(piece: str) -> None:
    """Four times the length, less than twelve times the time (four is linear, sixteen is quadratic)."""
    small, large = piece * (20_000 // len(piece)), piece * (80_000 // len(piece))
    withhold_lines(small)
    assert seconds(large) < 12 * max(min(seconds(small), seconds(small)), 0.005)


def test_a_megabyte_on_one_line_ends_soon() -> None:
    """A minified bundle with many suspicious words."""
    line = '{"key":"abc","token":12,"telemetry":true},' * 25_000
    start = time.process_time()
    assert withhold_lines(line).count == 0
    assert time.process_time() - start < 20


def test_redacting_many_credentials_in_one_line_ends_soon() -> None:
    """Each replacement must not cost a copy per remaining character."""
    line = ("gh" + "p_" + "aB3" * 12 + " ") * 5_000
    start = time.process_time()
    assert "ghp_" not in redact(line)
    assert time.process_time() - start < 10
