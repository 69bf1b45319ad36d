"""Approvals and receipts of the scope: recorded, never executed."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from arr_sql.core.connection import Connection, read_transaction, store_errors, write_transaction
from arr_sql.database.base import DatabaseBase
from arr_sql.errors import InputError, StateError

if TYPE_CHECKING:
    from arr_sql.core.approval_models import (
        ApprovalDecision,
        ApprovalPackage,
        Outcome,
        PackageStatus,
        ReceiptStatus,
        RiskLevel,
        VerificationRun,
    )


class ApprovalMethods(DatabaseBase):
    """Asking for an approval, giving it, and reporting what came of it."""

    def request_approval(
        self, case_id: str, payload: Mapping[str, Any], *, risk_level: RiskLevel, package_id: str | None = None
    ) -> ApprovalPackage:
        """Freeze ``payload`` (a JSON object) for a ``research_case`` and ask another person, for 24 hours.

        Raises InputError for a payload that is no JSON or holds a credential, StateError when the case can't have one.
        """
        from arr_sql.memory.approvals import request_approval

        with self._refusals("approval_refused", package_id, "request") as writer:
            return request_approval(
                writer, self.scope, case_id=case_id, payload=payload, risk_level=risk_level, package_id=package_id,
                actor=self.actor, now=self._clock(),
            )  # fmt: skip

    def approval(self, package_id: str) -> ApprovalPackage:
        """One package with its decision and receipt, its hashes recomputed. Raises InputError when there is none."""
        from arr_sql.memory.approval_rows import read_approval

        reader = self._reader("main")
        with store_errors(self.path), read_transaction(reader):
            return read_approval(reader, self.scope, package_id, now=self._clock())

    def approvals(self, status: PackageStatus | None = None, *, case_id: str | None = None) -> list[ApprovalPackage]:
        """Packages of the scope, newest first; ``status`` is by the clock: expired from ``expires_at`` on."""
        from arr_sql.memory.approval_rows import list_approvals

        reader = self._reader("main")
        with store_errors(self.path), read_transaction(reader):
            return list_approvals(reader, self.scope, now=self._clock(), status=status, case_id=case_id)

    def decide_approval(
        self, package_id: str, outcome: Outcome, *, payload_hash: str | None = None, reason: str = ""
    ) -> ApprovalDecision:
        """Approve or reject a package that another person requested.

        ``payload_hash`` is that of the payload that was read; approving needs it. The decision of an approval carries
        ``receipt_token``, here and never again. Raises StateError when it is not pending or is one's own.
        """
        from arr_sql.memory.approvals import decide_package

        with self._refusals("approval_refused", package_id, str(outcome)) as writer:
            return decide_package(
                writer, self.scope, package_id, outcome, payload_hash=payload_hash, reason=reason, actor=self.actor,
                now=self._clock(), token=secrets.token_hex(32),
            )  # fmt: skip

    def expire_approvals(self) -> list[ApprovalPackage]:
        """Note the expiry of each undecided package whose time is over; those."""
        from arr_sql.memory.approvals import expire_packages

        writer = self._write()
        with write_transaction(writer, self.path):
            return expire_packages(writer, self.scope, actor=self.actor, now=self._clock())

    def record_receipt(
        self, package_id: str, *, case_id: str, payload_hash: str, receipt_token: str, receipt_id: str,
        status: ReceiptStatus, body: Mapping[str, Any],
    ) -> VerificationRun:  # fmt: skip
        """Store the one receipt that a token admits; the same one again returns the stored one.

        It creates, changes and publishes no memory. Raises InputError for a credential anywhere in it, StateError when
        the package is not approved, the token is another's, or the token has admitted a different receipt.
        """
        from arr_sql.memory.receipts import record_receipt

        with self._refusals("receipt_refused", package_id, "receipt") as writer:
            return record_receipt(
                writer, self.scope, package_id=package_id, case_id=case_id, payload_hash=payload_hash,
                receipt_token=receipt_token, receipt_id=receipt_id, status=status, body=body, actor=self.actor,
                now=self._clock(),
            )  # fmt: skip

    @contextlib.contextmanager
    def _refusals(self, kind: str, package_id: object, asked: str) -> Iterator[Connection]:
        """One write transaction; a refusal undoes it and leaves an event of its own."""
        from arr_sql.memory.approvals import note_refusal

        writer = self._write()
        try:
            with write_transaction(writer, self.path):
                yield writer
        except (StateError, InputError) as refusal:
            with write_transaction(writer, self.path):
                note_refusal(
                    writer, self.scope, kind=kind, package_id=package_id, asked=asked if asked.isalpha() else "other",
                    error=type(refusal).__name__, actor=self.actor, now=self._clock(),
                )  # fmt: skip
            raise
