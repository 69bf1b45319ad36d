"""``arr approval request | list | show | decide | receipt | expire``."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from arr_sql.cli._shared import (
    NAME,
    TEXT,
    Where,
    echo,
    json_option,
    note,
    print_json,
    print_table,
    project_options,
    read_stdin,
    visible,
)

if TYPE_CHECKING:
    from arr_sql.core.approval_models import ApprovalPackage

TOKEN_VARIABLE = "ARR_RECEIPT_TOKEN"
FILE = click.Path(exists=True, dir_okay=False, allow_dash=True)


@click.group()
def approval() -> None:
    """Approvals: a frozen payload, another person's decision, a receipt. Recorded, never executed."""


@approval.command()
@click.argument("case_id", type=NAME)
@click.option("--risk", type=click.Choice(["low", "medium", "high"]), required=True, help="The highest that applies.")
@click.option(
    "--payload", "file", type=FILE, metavar="FILE",
    help="JSON object to freeze; left out, it is read from standard input.",
)  # fmt: skip
@click.option("--id", "package_id", type=NAME, metavar="ID", help="Its id (else derived).")
@project_options
@json_option
def request(case_id: str, risk: Any, file: str | None, package_id: str | None, where: Where, as_json: bool) -> None:
    """Freeze a payload for a research_case and ask another person to decide within 24 hours.

    \b
    Example:
      arr approval request case-r8 --risk high --payload plan.json --id pkg-r8
    """
    payload = _read_json(file, "payload")
    with where.open() as database:
        made = database.request_approval(case_id, payload, risk_level=risk, package_id=package_id)
    if as_json:
        print_json(_package_json(made))
        return
    echo(f"Package {made.package_id} waits for another person until {made.expires_at}.")
    echo(f"Payload hash: {made.payload_hash}")
    echo(f"Next, for that person: arr approval decide {made.package_id}")


@approval.command("list")
@click.option(
    "--status", type=click.Choice(["pending", "approved", "rejected", "expired"]), help="Only of this status."
)
@click.option("--case", "case_id", type=NAME, metavar="ID", help="Only of this case.")
@project_options
@json_option
def list_(status: Any, case_id: str | None, where: Where, as_json: bool) -> None:
    """List the packages of this scope, newest first.

    \b
    Example:
      arr approval list --status pending
    """
    with where.open() as database:
        found = database.approvals(status, case_id=case_id)
    if as_json:
        print_json([_package_json(item) for item in found])
        return
    rows = [
        [p.package_id, p.status, p.risk_level, p.case_id, p.requested_by, p.expires_at[:16],
         p.decision.decided_by if p.decision else "", p.receipt.status if p.receipt else ""]
        for p in found
    ]  # fmt: skip
    print_table("", ["id", "status", "risk", "case", "requested by", "until (UTC)", "decided by", "receipt"], rows)


@approval.command()
@click.argument("package_id", type=NAME)
@project_options
@json_option
def show(package_id: str, where: Where, as_json: bool) -> None:
    """Show a package: who asks whom for what, the whole payload, the decision and the receipt.

    \b
    Example:
      arr approval show pkg-r8
    """
    with where.open() as database:
        found = database.approval(package_id)
    if as_json:
        print_json(_package_json(found))
    else:
        _print_package(found)


@approval.command()
@click.argument("package_id", type=NAME)
@click.option("--approve", "outcome", flag_value="approved", help="Approve what the payload says.")
@click.option("--reject", "outcome", flag_value="rejected", help="Reject it.")
@click.option(
    "--payload-hash", type=NAME, metavar="HASH", help="Hash of the payload that you read; a terminal asks instead."
)
@click.option("--reason", type=TEXT, default="", help="Why; kept with the decision.")
@project_options
@json_option
def decide(package_id: str, outcome: Any, payload_hash: str | None, reason: str, where: Where, as_json: bool) -> None:
    """Approve or reject another person's package. Final.

    On a terminal the payload is shown and a question asked. Elsewhere give --approve with the --payload-hash that
    `arr approval show` prints, or --reject. An approval prints the receipt token once; only its hash is stored.

    \b
    Example:
      arr approval decide pkg-r8 --reject --reason "no seed is named"
    """
    with where.open() as database:
        if outcome is None or (outcome == "approved" and payload_hash is None):
            outcome, payload_hash = _ask(database.approval(package_id), outcome)
        made = database.decide_approval(package_id, outcome, payload_hash=payload_hash, reason=reason)
    if as_json:
        print_json(made.model_dump(mode="json"))
        return
    echo(f"Package {made.package_id} is {made.outcome} by {visible(made.decided_by)}.")
    if made.receipt_token:
        echo(f"Receipt token: {made.receipt_token}")
        note("The token is shown this once and admits one receipt. Give it to whoever carries the plan out.")


@approval.command()
@click.argument("package_id", type=NAME)
@click.option("--id", "receipt_id", type=NAME, required=True, metavar="ID", help="The receipt's own id.")
@click.option("--case", "case_id", type=NAME, required=True, metavar="ID", help="The case it is about.")
@click.option("--payload-hash", type=NAME, required=True, metavar="HASH", help="Hash of the payload carried out.")
@click.option("--status", type=click.Choice(["passed", "failed", "blocked"]), required=True)
@click.option(
    "--body", "file", type=FILE, metavar="FILE",
    help="JSON object with environment, verification_summary, evidence_refs, assertions, log_summary.",
)  # fmt: skip
@click.option(
    "--evidence", type=NAME, multiple=True, metavar="REF", help="What others can check (repeatable), instead of --body."
)
@click.option("--environment", type=TEXT, help="Where it ran, instead of --body.")
@click.option("--summary", type=TEXT, help="What was verified, instead of --body.")
@click.option(
    "--assertion",
    type=NAME,
    multiple=True,
    metavar="TEXT",
    help="What was found to hold (repeatable), instead of --body.",
)
@project_options
@json_option
def receipt(
    package_id: str, receipt_id: str, case_id: str, payload_hash: str, status: Any, file: str | None, evidence: tuple[str, ...],
    environment: str | None, summary: str | None, assertion: tuple[str, ...], where: Where, as_json: bool,
) -> None:  # fmt: skip
    """Record what came of an approved package. It changes no memory and publishes nothing.

    The receipt token comes from ARR_RECEIPT_TOKEN, else from a hidden prompt, else from standard input; an argument
    would show it to everybody on the machine.

    \b
    Example:
      arr approval receipt pkg-r9 --id run-1 --case case-r8 --payload-hash HASH --status passed --evidence runs/r9.log
    """
    given = {
        "environment": environment,
        "verification_summary": summary,
        "evidence_refs": list(evidence),
        "assertions": list(assertion),
    }
    body = {name: value for name, value in given.items() if value}
    if file is not None and body:
        raise click.UsageError(
            "Give the receipt with --body, or with --evidence, --environment, --summary and --assertion."
        )
    if file == "-" and not os.environ.get(TOKEN_VARIABLE):
        raise click.UsageError(f"Standard input is the body, so the token has to be in {TOKEN_VARIABLE}.")
    body = _read_json(file, "body") if file is not None else body
    with where.open() as database:
        made = database.record_receipt(
            package_id, case_id=case_id, payload_hash=payload_hash, receipt_token=_read_token(), receipt_id=receipt_id,
            status=status, body=body,
        )  # fmt: skip
    if as_json:
        print_json(made.model_dump(mode="json"))
        return
    echo(f"Receipt {visible(made.receipt_id)} of package {made.package_id} is recorded: {made.status}.")
    echo(f"Event key: {made.event_key}")


@approval.command()
@project_options
@json_option
def expire(where: Where, as_json: bool) -> None:
    """Note which packages ran out undecided. They are expired from that moment on, noted or not.

    \b
    Example:
      arr approval expire
    """
    with where.open() as database:
        found = database.expire_approvals()
    if as_json:
        print_json([_package_json(item) for item in found])
        return
    for item in found:
        echo(f"Package {item.package_id} expired at {item.expires_at}.")
    echo(f"{len(found)} expired.")


def _ask(package: ApprovalPackage, outcome: Any) -> tuple[Literal["approved", "rejected"], str]:
    """Show the payload and ask. Without a terminal that is a usage error that says what to give."""
    if sys.stdin is None or not sys.stdin.isatty():
        raise click.UsageError(
            f"Read it with `arr approval show {package.package_id}`, then give --approve --payload-hash HASH, or --reject."
        )
    _print_package(package, err=True)  # what is asked goes where the question goes
    if outcome is None:
        answer = click.prompt("Approve or reject", type=click.Choice(["approve", "reject"]), err=True)
        outcome = "approved" if answer == "approve" else "rejected"
    if outcome == "approved" and not click.confirm("Do you approve exactly this payload?", err=True):
        raise click.Abort
    return outcome, package.payload_hash


def _read_token() -> str:
    """The receipt token from the environment, a hidden prompt or standard input."""
    token = os.environ.get(TOKEN_VARIABLE, "").strip()
    if token:
        return token
    if sys.stdin is not None and sys.stdin.isatty():
        return str(click.prompt("Receipt token", hide_input=True, err=True))
    return read_stdin().strip()


def _read_json(file: str | None, what: str) -> Any:
    from arr_sql.core.secret_walk import parse_json
    from arr_sql.errors import InputError

    if file is None and sys.stdin is not None and sys.stdin.isatty():
        raise click.UsageError(f"Give the {what} with --{what}, or pipe it in.")
    if file in (None, "-"):
        return parse_json(read_stdin(), what)
    try:
        return parse_json(Path(str(file)).read_bytes().decode("utf-8-sig"), what)
    except UnicodeDecodeError as error:
        raise InputError(f"The {what} file is not UTF-8 (byte {error.start}). Convert it first.") from None


def _package_json(package: ApprovalPackage) -> dict[str, Any]:
    return package.model_dump(mode="json", exclude={"decision": {"receipt_token"}})


def _print_package(package: ApprovalPackage, *, err: bool = False) -> None:
    """Everything that a decision rests on, the whole payload included."""
    echo(f"Package {package.package_id} is {package.status} (risk: {package.risk_level})", err=err)
    echo(f"  case          {visible(package.case_id)}", err=err)
    echo(f"  requested by  {visible(package.requested_by)} at {package.requested_at}", err=err)
    echo(f"  until         {package.expires_at}", err=err)
    echo(f"  payload hash  {package.payload_hash}", err=err)
    echo("Payload:", err=err)
    echo(visible(json.dumps(package.payload, ensure_ascii=False, indent=2)), err=err)
    if package.decision is not None:
        decision = package.decision
        why = f": {visible(decision.reason)}" if decision.reason else ""
        echo(f"Decision: {decision.outcome} by {visible(decision.decided_by)} at {decision.decided_at}{why}", err=err)
    if package.receipt is not None:
        found = package.receipt
        echo(
            f"Receipt {visible(found.receipt_id)}: {found.status}, recorded by {visible(found.recorded_by)} at {found.recorded_at}",
            err=err,
        )
        for name, value in found.body.model_dump(mode="json").items():
            if value:
                echo(
                    f"  {name}  {visible(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))}",
                    err=err,
                )
