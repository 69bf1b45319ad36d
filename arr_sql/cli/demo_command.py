"""``arr demo``: index the sample project, answer six questions, show refusals, freshness and the audit trail."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from arr_sql.cli._shared import echo, note, progress_bar

if TYPE_CHECKING:
    from arr_sql.core.router_models import RouterResult
    from arr_sql.demo import DemoProject, Question


@click.command()
@click.option(
    "--keep", type=click.Path(path_type=Path, file_okay=False), help="Build it in this new folder and keep it."
)
@click.option(
    "--no-embed", is_flag=True, help="Skip the vectors (faster; the vector channel is then said to be missing)."
)
def demo(keep: Path | None, no_embed: bool) -> None:
    """Index a sample project in a temporary folder and answer six questions.

    \b
    Example:
      arr demo
    """
    from arr_sql.demo import DemoProject, questions

    started = time.monotonic()
    with _folder(keep) as folder, DemoProject(folder) as project:
        _build(project, no_embed)
        asked = questions()
        for number, question in enumerate(asked, 1):
            _answer(number, question, project)
        _lure(project, asked)
        _refusal(project)
        _freshness(project)
        _audit(project)
    echo(f"\nDone in {time.monotonic() - started:.0f} s. Now with your own folder:")
    echo('  cd my-project && arr init && arr add .\n  arr search "your question"\n  arr audit list')
    if keep is not None:
        echo(f"The sample project is in {keep}.")


@contextmanager
def _folder(keep: Path | None) -> Iterator[Path]:
    if keep is None:
        with tempfile.TemporaryDirectory(prefix="arr-demo-", ignore_cleanup_errors=True) as name:
            yield Path(name)
        return
    if keep.exists() and any(keep.iterdir()):
        raise click.UsageError(f"'{keep}' is not empty. Name a new folder.")
    keep.mkdir(parents=True, exist_ok=True)
    yield keep


def _build(project: DemoProject, no_embed: bool) -> None:
    _title("A research project in four scopes, each differing from the first in one value")
    with progress_bar("Indexing") as update:
        summaries = project.build(update)
    for name, summary in summaries.items():
        left = ", ".join(f"{count} {reason}" for reason, count in summary.left_out.items())
        withheld = f"; {summary.lines_withheld} credential line withheld" if summary.lines_withheld else ""
        echo(
            f"  {name:13s} {len(summary.added):3d} files, {summary.chunks_added:3d} chunks{f'; left out: {left}' if left else ''}{withheld}"
        )
        echo(f"                {project.scopes[name].key}")
    if no_embed:
        return
    with progress_bar("Embedding") as update:
        problem = project.embed(update)
    if problem:
        note(f"  No vectors: {problem}")


def _answer(number: int, question: Question, project: DemoProject) -> None:
    from arr_sql.retrieval.snippet import best_lines

    result = project.ask(question)
    _title(f"{number}. {question.query}")
    echo(f"  in {question.scope}; needs {question.needs}: {question.why}", dim=True)
    for place, item in enumerate(result.evidence[:3], 1):
        found_by = ", ".join(dict.fromkeys(f"{rank.channel} #{rank.rank}" for rank in item.channels))
        mark = " <- expected" if _ref(item.source_ref) in question.expect else ""
        echo(f"  {place}. {item.source_ref} {item.locator} [{item.freshness}]{mark}", bold=True)
        echo(f"     found by {found_by}; score {item.rerank_score or 0:.3f}")
        for line in best_lines(item.content, question.query, 2)[1]:
            if line.strip():
                echo(f"     | {line.strip()[:150]}")
    _account(result)


def _ref(source_ref: str) -> str:
    return source_ref.removeprefix("memory:")


def _account(result: RouterResult) -> None:
    states = ", ".join(f"{trace.tool_name} {trace.state}" for trace in result.traces)
    weaker = "; ".join(f"{d.tool_name} {d.code}" for d in result.degradations) or "none"
    agreed = sum(len({rank.channel for rank in item.channels}) > 1 for item in result.evidence)
    echo(
        f"  {states}. On {agreed} of {len(result.evidence)} several channels agree. Weaker than asked: {weaker}.",
        dim=True,
    )


def _lure(project: DemoProject, asked: list[Question]) -> None:
    _title("The same question in a neighbouring scope has its own answer, and no scope sees another's")
    question = asked[0]
    for name in list(project.scopes)[:2]:
        first = project.of(name).search(question.query, k=1).evidence[0]
        echo(f"  {name:13s} {first.source_ref} {first.locator}: {first.content.strip().splitlines()[0][:90]}")


def _refusal(project: DemoProject) -> None:
    _title("A plan that asks for more than it may")
    plan = {"version": 1, "tool_rounds": [["bm25", "web-search"]]}
    result = project.of(next(iter(project.scopes))).search("warmup schedule", plan=plan, k=1)
    for rejection in result.rejections:
        echo(
            f"  {rejection.tool_name}: refused, {rejection.code}. bm25 answered all the same: {result.state}, partial {result.partial}."
        )


def _freshness(project: DemoProject) -> None:
    _title("A file is edited after it was indexed: the answer says so, and grep reads the disk as it is now")
    name = next(iter(project.scopes))
    edited = project.folder / name / "notes" / "power-cap.md"
    edited.write_text(edited.read_text("utf-8") + "\nEdited just now: DEMO_EDIT_7731\n", "utf-8", newline="\n")
    for query in ("DEMO_EDIT_7731", "power cap of the two nodes"):
        item = project.of(name).search(query, k=1).evidence[0]
        found_by = ", ".join(dict.fromkeys(rank.channel for rank in item.channels))
        click.echo(f"  {query!r}: {item.source_ref} {item.locator} [{item.freshness}] found by {found_by}")
    summary = project.of(name).sync()
    echo(f"  arr sync: changed {', '.join(summary.changed)}; {summary.unchanged} unchanged")


def _audit(project: DemoProject) -> None:
    _title("The audit trail")
    database = project.of(next(iter(project.scopes)))
    for event in reversed(database.audit_events(kind="retrieval", limit=3)):
        echo(
            f"  {event.at[:19]} {event.actor} {event.kind} {event.subject_id} {event.details['state']}  {event.hash[:16]}..."
        )
    report = database.verify_audit()
    words = "verified" if not report.damages else f"DAMAGED at event {report.damages[0].seq}"
    echo(f"  {report.events} events, {report.rows} rows {words}; head {report.head[:16]}...")


def _title(text: str) -> None:
    echo(f"\n{text}", fg="cyan", bold=True)
