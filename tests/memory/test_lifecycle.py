"""Which status may follow which: every pair, against the contract's own sentence."""

from __future__ import annotations

from typing import get_args

import pytest

from arr_sql.core.research_models import MemoryStatus
from arr_sql.errors import StateError
from arr_sql.memory.lifecycle import TRANSITIONS, require_transition

STATUSES = get_args(MemoryStatus)

# Contract 5.1, written down a second time.
ALLOWED = {
    ("candidate", "verified"), ("candidate", "published"), ("candidate", "revoked"),
    ("verified", "published"), ("verified", "candidate"), ("verified", "revoked"),
    ("published", "deprecated"), ("published", "conflict"), ("published", "expired"), ("published", "revoked"),
    ("conflict", "published"), ("conflict", "deprecated"), ("conflict", "revoked"),
    ("deprecated", "published"), ("deprecated", "revoked"),
    ("expired", "published"), ("expired", "revoked"),
}  # fmt: skip


@pytest.mark.parametrize("old", STATUSES)
@pytest.mark.parametrize("new", STATUSES)
def test_every_pair_of_statuses(old: MemoryStatus, new: MemoryStatus) -> None:
    """A step of the contract's table is allowed; any other, staying where one is included, is a StateError."""
    if (old, new) in ALLOWED:
        require_transition("m1", old, new)
        return
    with pytest.raises(StateError, match=f"^Memory 'm1' is {old} and can't become {new}. ") as caught:
        require_transition("m1", old, new)
    following = sorted(status for before, status in ALLOWED if before == old)
    assert str(caught.value).endswith(
        f"it may become: {', '.join(following)}." if following else "add a new memory instead."
    )


def test_the_table_covers_the_statuses() -> None:
    """Every status has its row, and only ``revoked`` is final."""
    assert set(TRANSITIONS) == set(STATUSES)
    assert [status for status in STATUSES if not TRANSITIONS[status]] == ["revoked"]
