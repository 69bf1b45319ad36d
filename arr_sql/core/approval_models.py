"""Approval packages, decisions and receipts as values, and what decides about them without a store (contract 6). Pure.

People are told apart by :func:`person_key`; a package's state follows from its decision and the clock by
:func:`package_status`; a receipt's place in the log is :func:`event_key`. tests/memory/test_approvals.py
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from datetime import timedelta
from typing import Annotated, Any, Literal

from pydantic import Field, JsonValue, StrictStr, field_validator

from arr_sql.core.canonical import sha256_json
from arr_sql.core.research_models import ScopeKey, Value
from arr_sql.errors import InputError

RiskLevel = Literal["low", "medium", "high"]
PackageStatus = Literal["pending", "approved", "rejected", "expired"]
Outcome = Literal["approved", "rejected", "expired"]
ReceiptStatus = Literal["passed", "failed", "blocked"]

RISK_LEVELS: tuple[RiskLevel, ...] = ("low", "medium", "high")
RECEIPT_STATUSES: tuple[ReceiptStatus, ...] = ("passed", "failed", "blocked")
RISK_CARRIED = "risk_carried"
"""The field of a case's metadata with the risk that it brought along from another scope or file."""
LIFE = timedelta(hours=24)
MAX_LOG_SUMMARY = 4096

Text = Annotated[StrictStr, Field(max_length=MAX_LOG_SUMMARY)]


class ReceiptBody(Value):
    """What a receipt may say, and nothing else. ``evidence_refs`` are what others can check."""

    environment: StrictStr | dict[str, JsonValue] = ""
    verification_summary: StrictStr = ""
    evidence_refs: Annotated[tuple[StrictStr, ...], Field(min_length=1)]
    assertions: tuple[JsonValue, ...] = ()
    log_summary: Text = ""

    @field_validator("evidence_refs")
    @classmethod
    def _each_says_something(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if any(not item.strip() for item in value):
            raise ValueError("must not hold a blank reference")
        return value


class VerificationRun(Value):
    """A receipt: what somebody reports of having carried out an approved package elsewhere. The token is not kept."""

    package_id: str
    case_id: str
    payload_hash: str
    receipt_id: str
    status: ReceiptStatus
    body: ReceiptBody
    body_hash: str
    event_key: str
    recorded_by: str
    recorded_at: str
    revision: int


class ApprovalDecision(Value):
    """What became of a package, final. ``receipt_token`` is there once, in the answer to the approval itself."""

    package_id: str
    outcome: Outcome
    payload_hash: str
    decided_by: str
    decided_at: str
    reason: str
    revision: int
    receipt_token: Annotated[str | None, Field(repr=False)] = None


class ApprovalPackage(Value):
    """A frozen payload for a case, and what became of it by the clock of the reader."""

    package_id: str
    scope: ScopeKey
    case_id: str
    case_hash: str
    payload: dict[str, Any]
    payload_hash: str
    risk_level: RiskLevel
    status: PackageStatus
    requested_by: str
    requested_at: str
    expires_at: str
    revision: int
    decision: ApprovalDecision | None = None
    receipt: VerificationRun | None = None


def person_key(name: str) -> str:
    """The name by which people are told apart: trimmed and case-folded, without invisible characters.

    Raises InputError for a name that is blank, over 200 characters, or holds a control character.
    """
    trimmed = clean_text("name of the person who acts", name, next_step="Set ARR_ACTOR to your name.")
    folded = trimmed
    for _ in range(3):  # folding can make letters that normalise further; three rounds reach the fixed point
        folded = unicodedata.normalize("NFKC", folded).casefold()
        folded = "".join(letter for letter in folded if unicodedata.category(letter) != "Cf").strip()
    if not folded:
        raise InputError("The name of the person who acts shows nothing. Set ARR_ACTOR to your name.")
    return folded


def clean_text(what: str, value: Any, *, next_step: str = "Choose another.") -> str:
    """``value`` trimmed. Raises InputError unless it is 1 to 200 characters of text without control characters."""
    if not isinstance(value, str) or not value.strip():
        raise InputError(f"The {what} is missing or blank. {next_step}")
    trimmed = value.strip()
    if len(trimmed) > 200:
        raise InputError(f"The {what} has {len(trimmed)} characters; at most 200 are allowed. {next_step}")
    if any(unicodedata.category(letter) in ("Cc", "Cs") for letter in trimmed):
        raise InputError(f"The {what} holds a control character or half a character. {next_step}")
    return trimmed


def package_status(outcome: Outcome | None, expires_at: str, now: str) -> PackageStatus:
    """A decision stands; without one a package is pending until ``expires_at`` and expired from that very moment on."""
    if outcome is not None:
        return outcome
    return "expired" if now >= expires_at else "pending"


def highest_risk(levels: Iterable[Any]) -> RiskLevel | None:
    """The highest of what was stated, None for nothing; a level that nobody knows counts as ``high``."""
    ranks = [RISK_LEVELS.index(level) if level in RISK_LEVELS else len(RISK_LEVELS) - 1 for level in levels]
    return RISK_LEVELS[max(ranks)] if ranks else None


def is_risky(risk_level: Any) -> bool:
    """Whether a case that states this ``risk_level`` in its metadata is risk-bearing: anything but absent and ``low``."""
    return risk_level not in (None, "low")


def event_key(package_id: str, receipt_token: str, receipt_id: str) -> str:
    """SHA-256 of the compact JSON array ``[package_id, receipt_token, receipt_id]``."""
    return sha256_json([package_id, receipt_token, receipt_id])
