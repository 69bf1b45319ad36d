"""Time as text: one width, UTC, sorted as text; a missing zone is refused, not guessed."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from fnmatch import fnmatchcase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arr_sql.core.clock import TIME_GLOB, from_text, to_text, utc_now
from arr_sql.errors import InputError

ZONES = st.integers(min_value=-14 * 60, max_value=14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
MOMENTS = st.datetimes(min_value=datetime(1, 1, 3), max_value=datetime(9999, 12, 29), timezones=ZONES)


@given(MOMENTS)
def test_text_and_back(moment: datetime) -> None:
    """Any aware time comes back as the same moment, in UTC, from text of one fixed width."""
    text = to_text(moment)
    assert (from_text(text), from_text(text).utcoffset()) == (moment, timedelta(0))
    assert fnmatchcase(text, TIME_GLOB) and len(text) == 27


@given(MOMENTS, MOMENTS)
def test_text_order_is_time_order(one: datetime, two: datetime) -> None:
    """Comparing the texts compares the moments, whatever zones they were given in."""
    assert (to_text(one) < to_text(two), to_text(one) == to_text(two)) == (one < two, one == two)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-03-10T23:15:00Z", "2026-03-10T23:15:00.000000Z"),
        (" 2026-03-11T07:15:00+08:00\n", "2026-03-10T23:15:00.000000Z"),
        ("2026-03-10T23:15:00.250-00:30", "2026-03-10T23:45:00.250000Z"),
        ("2026-03-10 23:15:00+00:00", "2026-03-10T23:15:00.000000Z"),
        ("2026-03-10t23:15:00z", "2026-03-10T23:15:00.000000Z"),
    ],
)
def test_times_as_people_write_them(text: str, expected: str) -> None:
    """ISO 8601 with an offset or Z is read, and comes out in UTC."""
    assert to_text(from_text(text)) == expected


@pytest.mark.parametrize("text", ["2026-03-10T23:15:00", "2026-03-10", "2026-03-10T23:15"])
def test_a_time_without_a_zone_is_refused(text: str) -> None:
    """A naive time says that the zone is missing and how to write one."""
    with pytest.raises(InputError, match=r"has no time zone. Add one, for example a trailing Z for UTC"):
        from_text(text)


@pytest.mark.parametrize(
    "text", ["", "tomorrow", "2026-13-01T00:00:00Z", "2026-02-30T00:00:00Z", "12:00Z", "Z", "2026-03-10T25:00:00Z"]
)
def test_what_is_no_time_is_refused(text: str) -> None:
    """Text that is no time says how a time is written."""
    with pytest.raises(InputError, match="Write it like 2026-03-10T23:15:00Z"):
        from_text(text)


@pytest.mark.parametrize("text", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"])
def test_a_time_that_utc_cannot_hold_is_refused(text: str) -> None:
    """A time at the edge of the calendar that has no UTC counterpart is a caller's mistake, not a crash."""
    with pytest.raises(InputError):
        from_text(text)


def test_a_naive_datetime_is_refused() -> None:
    """The same holds for datetime objects."""
    with pytest.raises(InputError, match="2026-03-10T23:15:00 has no time zone"):
        to_text(datetime(2026, 3, 10, 23, 15))


def test_now_is_aware_and_in_utc() -> None:
    """The one reading of the clock has a zone."""
    assert utc_now().utcoffset() == timedelta(0)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", to_text(utc_now()))
