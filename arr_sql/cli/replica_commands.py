"""``arr replica start | status | restore | follow | verify | purge``."""

from __future__ import annotations

import contextlib
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from arr_sql.cli._shared import (
    NAME,
    FloatRange,
    Where,
    echo,
    json_option,
    note,
    print_json,
    print_pairs,
    progress_bar,
    project_options,
    visible,
)

if TYPE_CHECKING:
    from arr_sql.replica.copying import Copied
    from arr_sql.replica.restore import Restored
    from arr_sql.replica.target import Target

F = TypeVar("F", bound=Callable[..., Any])
FILE = click.Path(path_type=Path, dir_okay=False)
MOST_NAMED = 10
SAY_SECONDS = 60.0
"""While copying, what is in the store now is said at most so often."""


def store_options(command: F) -> F:
    """Add ``--endpoint`` and ``--region``."""
    region = click.option("--region", type=NAME, metavar="NAME", help="The store's region, like eu-central-1.")
    endpoint = click.option(
        "--endpoint", type=NAME, metavar="URL", help="An S3-compatible store's address: https, or http on this machine."
    )
    return endpoint(region(command))


def known_store(command: F) -> F:
    """Add ``TARGET``, which may be left out, with ``--endpoint`` and ``--region``; and what finds the project and its form."""
    target = click.argument("target", type=NAME, required=False)
    return target(store_options(project_options(json_option(command))))


@click.group()
def replica() -> None:
    """Copies of the file on other machines, carried by Litestream: start, status, restore, follow, verify, purge."""


@replica.command()
@click.argument("target", type=NAME)
@store_options
@click.option("--keep", type=click.IntRange(1, 3650), default=7, show_default=True, metavar="DAYS",
              help="How far back a state can be restored.")  # fmt: skip
@click.option("--once", is_flag=True, help="Copy what is there now, and end.")
@click.option("--print-config", is_flag=True, help="Print Litestream's configuration, and do nothing.")
@project_options
@json_option
def start(
    target: str, endpoint: str | None, region: str | None, keep: int, once: bool, print_config: bool, where: Where,
    as_json: bool,
) -> None:  # fmt: skip
    """Copy the file to TARGET each second while others work with it, until Ctrl-C.

    TARGET is a folder (another disk, a mounted share) or s3://BUCKET/PATH with keys in the environment:
    AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_SHARED_CREDENTIALS_FILE. The copy holds all that the file holds.

    \b
    Example:
      arr replica start ../lumen-copy --once
    """
    from arr_sql.memory.audit_log import current_actor
    from arr_sql.replica.copying import copy_continuously
    from arr_sql.replica.target import engine_config

    path, wanted = where.find().database, _target(target, endpoint, region)
    if print_config:
        echo(engine_config(path.resolve(), wanted, keep_days=keep), nl=False)
        return
    begins = (
        f"Copying {visible(str(path))} to {visible(wanted.text)}{_via(wanted)}.{'' if once else ' Ctrl-C ends it.'}"
    )
    try:
        with _ended_by_signals():
            copy_continuously(
                path, wanted, actor=current_actor(), keep_days=keep, is_once=once, tell=_Teller(begins, as_json).hear
            )
    except KeyboardInterrupt:
        if once:
            raise
        note("Stopped.")
    _print_status(path, wanted, as_json, in_one_line=True)


class _Teller:
    """Says what the engine said: a problem at once, the same one and progress now and then."""

    def __init__(self, begins: str, as_json: bool) -> None:
        self._begins, self._as_json, self._said_at = begins, as_json, -SAY_SECONDS
        self._problem, self._problem_at = "", -SAY_SECONDS

    def hear(self, copied: Copied) -> None:
        if copied.transaction is None and not copied.problem:
            if not self._as_json:
                echo(self._begins)
                sys.stdout.flush()
        elif self._as_json:
            print_json({"transaction": copied.transaction, "problem": copied.problem}, in_one_line=True)
        elif copied.problem:
            if copied.problem == self._problem and time.monotonic() - self._problem_at < SAY_SECONDS:
                return  # Litestream tries again twice a second
            self._problem, self._problem_at = copied.problem, time.monotonic()
            note(f"{time.strftime('%H:%M:%S')}  Litestream: {visible(copied.problem)}")
        elif time.monotonic() - self._said_at >= SAY_SECONDS:
            self._said_at = time.monotonic()
            note(f"{time.strftime('%H:%M:%S')}  transaction {copied.transaction} is in the store")


@replica.command()
@known_store
def status(target: str | None, endpoint: str | None, region: str | None, where: Where, as_json: bool) -> None:
    """Show what is in TARGET (default: where the last copy was begun) and how far it is behind.

    \b
    Example:
      arr replica status
    """
    path = where.find().database
    _print_status(path, _chosen(path, target, endpoint, region), as_json)


def _print_status(path: Path, target: Target, as_json: bool, *, in_one_line: bool = False) -> None:
    from arr_sql.replica.status import replica_status

    found = replica_status(path, target)
    if as_json:
        print_json(vars(found), in_one_line=in_one_line)
        return
    if found.transaction is None:
        echo(f"Nothing is in {visible(found.target)}{_via(target)} yet.")
        return
    behind = f"{found.lag_seconds:.1f} s" if found.lag_seconds else "unknown, since the clock was set back"
    if found.is_complete:
        behind = "nothing: all of the file is in the store"
    if in_one_line:
        echo(f"In the store: transaction {found.transaction}, taken {_short(found.copied_at)}; behind: {behind}.")
        return
    print_pairs("", {
        "target": found.target + _via(target),
        "copying now": "yes" if found.is_running else "no",
        "in the store": f"transaction {found.transaction}, taken {_short(found.copied_at)}",
        "behind": behind,
        "restorable from": _short(found.restorable_from),
        "size": f"{found.stored_bytes:,} bytes",
    })  # fmt: skip


@replica.command()
@click.argument("target", type=NAME)
@click.argument("output", type=FILE)
@click.option(
    "--at", metavar="TIME", type=NAME, help="As it was then, like 2026-03-10T09:00:00Z (else the newest state)."
)
@click.option("--anchor", "anchor_file", type=click.Path(path_type=Path, dir_okay=False, exists=True), metavar="FILE",
              help="Compare with this file's anchors (`arr audit anchor`).")  # fmt: skip
@store_options
@json_option
def restore(
    target: str, output: Path, at: str | None, anchor_file: Path | None, endpoint: str | None, region: str | None,
    as_json: bool,
) -> None:  # fmt: skip
    """Make the new file OUTPUT from the copy in TARGET, on this or another machine, and check it.

    \b
    Example:
      arr replica restore ../lumen-copy restored.db
    """
    from arr_sql.core.clock import from_text
    from arr_sql.memory.audit_anchor import read_anchors
    from arr_sql.replica.restore import restore_store

    anchors = read_anchors(anchor_file) if anchor_file is not None else []
    moment = from_text(at) if at is not None else None
    with progress_bar("Restoring", quiet=as_json):
        made = restore_store(_target(target, endpoint, region), output, at=moment, anchors=anchors)
    if as_json:
        print_json(vars(made))
        return
    echo(f"Restored and checked: {visible(made.file)} ({made.bytes:,} bytes, {made.events} events).")
    echo(f"Its newest state was copied {_short(made.copied_at)}, its last event is of {_short(made.last_event_at)}.")
    echo("What was written after that is not in it.")
    for missing in made.missing:
        note(f"Not in it: {visible(missing)}.")


@replica.command()
@click.argument("target", type=NAME)
@click.argument("output", type=FILE)
@click.option("--every", type=FloatRange(0.2, 86_400), default=10.0, show_default=True, metavar="SECONDS",
              help="How often the store is asked.")  # fmt: skip
@click.option("--once", is_flag=True, help="Make it as new as the store, and end.")
@store_options
@json_option
def follow(
    target: str, output: Path, every: float, once: bool, endpoint: str | None, region: str | None, as_json: bool
) -> None:
    """Keep the read copy OUTPUT as new as TARGET, until Ctrl-C. Each state is checked before it takes OUTPUT's place.

    A read copy can be searched with --db OUTPUT; SQLite refuses to write to it.

    \b
    Example:
      arr replica follow ../lumen-copy lumen-read.db --once
    """
    from arr_sql.replica.restore import follow_store

    def tell(made: Restored) -> None:
        if as_json:
            print_json(vars(made), in_one_line=True)
        else:
            echo(f"{visible(made.file)} is as of {_short(made.copied_at)} ({made.events} events), checked.")

    wanted = _target(target, endpoint, region)
    with contextlib.suppress(KeyboardInterrupt), _ended_by_signals():
        follow_store(wanted, output, every=every, tell=tell, rounds=1 if once else None)


@replica.command()
@click.argument("copy", type=click.Path(path_type=Path, dir_okay=False, exists=True))
@click.option("--records", type=click.IntRange(0), default=50, show_default=True, metavar="N",
              help="How many of the newest retrievals are run again on the copy.")  # fmt: skip
@project_options
@json_option
def verify(copy: Path, records: int, where: Where, as_json: bool) -> None:
    """Compare the file COPY (restored, or a read copy) with the project's: whole, what it lacks, the same answers.

    \b
    Example:
      arr replica verify restored.db
    """
    with where.open() as database, progress_bar("Replaying", quiet=as_json) as update:
        found = database.compare_copy(copy, records=records, progress=update)
    outcomes = [item.outcome for item in found.replays]
    same, other = outcomes.count("identical"), outcomes.count("not_replayable")
    different, changed = len(found.different), len(found.file_changed)
    if as_json:
        print_json({
            "passed": found.passed, "failed_checks": list(found.failed_checks), "is_history_shared": found.is_history_shared,
            "copy_events": found.copy_events, "missing_events": found.missing_events,
            "missing_seconds": found.missing_seconds, "replayed": len(outcomes), "identical": same, "different": different,
            "file_changed": changed, "not_replayable": other,
            "differences": [{"retrieval_id": item.retrieval_id, "cause": item.cause} for item in found.different],
        })  # fmt: skip
    else:
        lacks = (
            f"the last {found.missing_events} events, {found.missing_seconds:.1f} s"
            if found.missing_events
            else "nothing"
        )
        print_pairs("", {
            "checks": f"failed: {', '.join(found.failed_checks)}" if found.failed_checks else "ok",
            "history": f"the first {found.copy_events} of {found.copy_events + found.missing_events} events"
            if found.is_history_shared else "of another file, or written to since",
            "lacks": lacks if found.is_history_shared else "unknown",
            "answers": f"{same} of {len(outcomes)} retrievals identical"
            + (f", {different} different" if different else "")
            + (f", {changed} where files have changed since" if changed else "")
            + (f", {other} not replayable" if other else ""),
        })  # fmt: skip
        for item in found.different[:MOST_NAMED]:
            echo(f"  {item.retrieval_id} differs: {item.cause or 'for no known reason'}.")
        if len(found.different) > MOST_NAMED:
            echo(f"  ... and {len(found.different) - MOST_NAMED} more. `--json` names all.")
    if not found.passed:
        raise click.exceptions.Exit(1)


@replica.command()
@known_store
def purge(target: str | None, endpoint: str | None, region: str | None, where: Where, as_json: bool) -> None:
    """Remove from the folder TARGET all but the file as it is now, after `arr forget`. Older states can't be restored then.

    \b
    Example:
      arr replica purge ../lumen-copy
    """
    from arr_sql.memory.audit_log import current_actor
    from arr_sql.replica.purge import purge_store

    path = where.find().database
    found = purge_store(path, _chosen(path, target, endpoint, region), actor=current_actor())
    if as_json:
        print_json(vars(found))
    else:
        echo(f"{found.removed} older files are gone from {visible(found.target)}; it holds the file as it is now.")


def _target(text: str, endpoint: str | None, region: str | None) -> Target:
    from arr_sql.replica.target import parse_target

    return parse_target(text, endpoint, region)


def _chosen(path: Path, text: str | None, endpoint: str | None, region: str | None) -> Target:
    from arr_sql.replica.register import latest_target

    if text is None and (endpoint or region):
        raise click.UsageError("--endpoint and --region go with a target. Name it.")
    return latest_target(path) if text is None else _target(text, endpoint, region)


def _via(target: Target) -> str:
    return f" at {target.endpoint}" if target.endpoint else ""


def _short(moment: str | None) -> str:
    return "never" if moment is None else f"{moment[:19]}Z"


@contextlib.contextmanager
def _ended_by_signals() -> Iterator[None]:
    """A service that is stopped, or a terminal that is closed, ends the block as Ctrl-C does."""
    before = {}
    for name in ("SIGTERM", "SIGHUP", "SIGBREAK"):
        if hasattr(signal, name):
            before[name] = signal.signal(getattr(signal, name), signal.default_int_handler)
    try:
        yield
    finally:
        for name, handler in before.items():
            signal.signal(getattr(signal, name), handler)
