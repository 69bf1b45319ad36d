"""``arr grep``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from arr_sql.cli._shared import (
    TEXT,
    FloatRange,
    Where,
    advise_line_index,
    echo,
    json_option,
    note,
    print_json,
    project_options,
    visible,
)

if TYPE_CHECKING:
    from arr_sql.database.lines import LineAnswer

CUTS = {
    "max_files": "the limit of files",
    "max_bytes": "the limit of bytes",
    "max_results": "the limit of lines (--max-results)",
    "max_depth": "folders too deep to walk",
    "deadline": "the time limit (--deadline)",
}


@click.command()
@click.argument("pattern", type=TEXT)
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@click.option("--exact", is_flag=True, help="Case, width and accents' composition count.")
@click.option("--regex", is_flag=True, help="PATTERN is a regular expression (RE2; needs the extra `regex`).")
@click.option("-l", "--files", "names_only", is_flag=True, help="Print only the names of the files.")
@click.option(
    "--max-results",
    type=click.IntRange(1, 100_000),
    default=200,
    show_default=True,
    help="Print at most so many lines.",
)
@click.option(
    "--deadline", type=FloatRange(0.1, 3600), default=30.0, show_default=True, metavar="SECONDS",
    help="Stop after this time and print what was found until then.",
)  # fmt: skip
@click.option("--strict", is_flag=True, help="Exit with 3 when not everything was searched.")
@project_options
@json_option
def grep(
    pattern: str, paths: tuple[Path, ...], exact: bool, regex: bool, names_only: bool, max_results: int,
    deadline: float, strict: bool, where: Where, as_json: bool,
) -> None:  # fmt: skip
    """Show the lines of the added folders that hold PATTERN, as they are on disk now.

    PATTERN is plain text; case and width don't count. PATHS narrow the search to folders or files inside the added
    ones. Lines are numbered as in `grep -n`, long ones are cut around the match, lines that hold credentials are
    counted and not shown. What was left out, and any limit that was met, is said at the end. The exit code is 0
    whether or not a line was found, 2 for a pattern that is no regular expression. `arr db line-index` makes it
    quicker over a large tree.

    With --regex the pattern matches within one line, `^` and `$` are its ends, and case counts unless the pattern
    begins with (?i).

    \b
    Example:
      arr grep warmup notes
    """
    from arr_sql.retrieval.line_values import SearchLimits

    limits = SearchLimits(max_results=max_results)
    with where.open() as database:
        answer = database.grep(
            pattern, paths, regex=regex, exact=exact, first_only=names_only, limits=limits, deadline_seconds=deadline
        )
    if as_json:
        mode = "regex" if regex else "exact" if exact else "literal"
        print_json({"pattern": pattern, "mode": mode, **_as_values(answer, deadline, names_only)})
    else:
        _print(answer, names_only)
    if strict and not answer.is_complete:
        raise click.exceptions.Exit(3)


def _as_values(answer: LineAnswer, deadline: float, names_only: bool) -> dict[str, Any]:
    found, limits = answer.search, answer.limits
    hits = [
        {
            "source_ref": _name(answer, hit.root_name, hit.rel), "line": hit.line_no, "column": hit.column, "text": hit.text,
            "clipped": hit.clipped, "true_length": hit.true_length, "offset": hit.offset,
        }
        for hit in found.hits
    ]  # fmt: skip
    return {
        **({"files": [hit["source_ref"] for hit in hits]} if names_only else {"hits": hits}),
        "files_searched": found.scanned_files, "bytes_searched": found.scanned_bytes, "lines_withheld": found.withheld,
        "line_index": {"ruled_out": found.ruled_out, "changed": found.changed, "damaged": found.damaged} if found.indexed else None,
        "skipped": found.skipped,
        "left_out": [
            {"source_ref": _name(answer, root, rel), "reason": reason} for root, rel, reason in found.left_out
        ],
        "cut": found.cut, "complete": answer.is_complete,
        "limits": {
            "max_files": limits.max_files, "max_bytes": limits.max_bytes, "max_file_bytes": limits.max_file_bytes,
            "max_results": limits.max_results, "deadline_seconds": deadline,
        },
        "roots_missing": list(answer.roots_missing), "roots_other_branch": list(answer.roots_other_branch),
    }  # fmt: skip


def _name(answer: LineAnswer, root_name: str, rel: str) -> str:
    return answer.source_ref(root_name, rel).encode("utf-8", "backslashreplace").decode()


def _print(answer: LineAnswer, names_only: bool) -> None:
    """Lines on stdout, the account on stderr: what is piped on is only what was found."""
    found = answer.search
    for hit in found.hits:
        name = visible(_name(answer, hit.root_name, hit.rel))
        if names_only:
            echo(name)
            continue
        cut = f"  [clipped: {hit.true_length:,} characters, from {hit.offset + 1:,}]" if hit.clipped else ""
        echo(f"{name}:{hit.line_no}:{visible(hit.text)}{cut}")
    files = len({(hit.root_name, hit.rel) for hit in found.hits})
    searched = (
        f"{found.scanned_files} searched"
        if found.hits
        else f"{found.scanned_files} file{'s' * (found.scanned_files != 1)}"
    )
    if found.ruled_out:
        searched += f", {found.ruled_out} of them by the line index"
    lines = f"{len(found.hits)} line{'s' * (len(found.hits) != 1)} in " if not names_only else ""
    note(
        f"{lines}{files} file{'s' * (files != 1)}; {searched}." if found.hits else f"Nothing found in {searched}."
    )  # fmt: skip
    if found.withheld:
        note(f"Withheld: {found.withheld} lines that hold credentials.")
    if found.damaged:
        note(
            f"{found.damaged} rows of the line index are damaged and were not used. `arr db line-index` makes them anew."
        )
    if found.skipped:
        note("Not searched: " + ", ".join(f"{count} {reason}" for reason, count in found.skipped.items()) + ".")
    advise_line_index(found.scanned_files, indexed=found.indexed)
    if found.cut is not None:
        note(f"Stopped at {CUTS[found.cut]}: there may be more. Narrow it with a PATH, or raise the limit.")
    for path in answer.roots_missing:
        note(f"Not there now: {visible(path)}")
    for path in answer.roots_other_branch:
        note(f"Not searched: {visible(path)} has another branch or repository than this scope.")
