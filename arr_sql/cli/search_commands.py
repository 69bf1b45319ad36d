"""``arr search | plan | show``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from arr_sql.cli._shared import (
    NAME,
    Where,
    advise_elsewhere,
    advise_line_index,
    echo,
    json_option,
    note,
    print_json,
    print_table,
    project_options,
    visible,
)


@click.command()
@click.argument("query")
@click.option("-k", type=click.IntRange(1, 1000), help="How much evidence to return.  [default: 10]")
@click.option(
    "--plan", "plan_file", type=click.File("r", encoding="utf-8"), help="Run this plan (JSON) instead of the rules'."
)
@click.option(
    "--planner",
    type=click.Choice(["rules", "llm"]),
    default="rules",
    show_default=True,
    help="Who plans: the rules, or the language model (docs/language-model.md), checked.",
)
@click.option(
    "--rerank",
    type=click.Choice(["rule", "llm", "hybrid"]),
    default="rule",
    show_default=True,
    help="Who orders: the rules, the language model, or both together.",
)
@click.option("--no-floor", is_flag=True, help="Show what was found even where it is too far from the question.")
@click.option("--full", is_flag=True, help="Print whole chunks instead of their best lines.")
@click.option("--strict", is_flag=True, help="Exit with 3 when the answer is partial or degraded.")
@project_options
@json_option
def search(
    query: str, k: int | None, plan_file: Any, planner: Any, rerank: Any, no_floor: bool, full: bool, strict: bool,
    where: Where, as_json: bool,
) -> None:  # fmt: skip
    """Find evidence for QUERY, with the account of how it was found.

    \b
    Example:
      arr search "why did the warmup run diverge" -k 5
    """
    with where.open() as database:
        result = database.search(
            query, k=k, plan=_read_plan(plan_file), planner=planner, rerank=rerank, floor=not no_floor
        )
        is_empty = not result.evidence and database.status().get("sources", 0) == 0
    if as_json:
        from arr_sql.retrieval.missing_words import missing_words

        print_json({**result.model_dump(mode="json"), "missing_words": missing_words(query, result.evidence)})
    else:
        print_result(query, result, full=full)
        for trace in result.traces:
            if trace.tool_name == "grep":
                advise_line_index(trace.detail.get("files", 0), indexed="ruled_out" in trace.detail)
        if is_empty:
            note(
                "Nothing has been added to this scope yet: `arr add FOLDER`. `arr scope list` shows the file's scopes."
            )
    if strict and (result.partial or result.degradations):
        raise click.exceptions.Exit(3)


def _read_plan(plan_file: Any) -> Any:
    if plan_file is None:
        return None
    try:
        return json.load(plan_file)
    except (ValueError, RecursionError) as error:
        from arr_sql.errors import PlanInvalid

        words = "nested too deeply" if isinstance(error, RecursionError) else str(error).rstrip(".")
        raise PlanInvalid(
            f'The plan file is not JSON: {words}. A plan looks like {{"tool_rounds": [["bm25", "grep"]]}}.'
        ) from None


def print_result(query: str, result: Any, *, full: bool = False) -> None:
    """The answer for people: evidence, then what ran, then what was refused or weaker."""
    from arr_sql.cli._lines import print_pieces, print_text
    from arr_sql.core.router_models import REASON_TEXT
    from arr_sql.retrieval.missing_words import missing_words
    from arr_sql.retrieval.snippet import best_lines

    for number, item in enumerate(result.evidence, 1):
        style = {"fresh": {"fg": "green"}, "changed": {"fg": "yellow"}, "missing": {"fg": "red"}}
        print_pieces(
            (f"{number:2d}. ", {}),
            (visible(item.source_ref), {"fg": "cyan", "bold": True}),
            (f"  {visible(item.locator)}", {"fg": "cyan"}),
            (
                f"  {freshness_words(item.freshness, item.metadata.get('certificate', {}))}",
                style.get(item.freshness, {"dim": True}),
            ),
        )
        found_by = " ".join(dict.fromkeys(f"{rank.channel}#{rank.rank}" for rank in item.channels))
        scores = "" if item.rerank_score is None else f"score {item.rerank_score:.3f}"
        rrf = "" if item.rrf_score is None else f"rrf {item.rrf_score:.6f}"
        print_text(f"    {'  '.join(part for part in (found_by, scores, rrf) if part)}", dim=True)
        if losers := item.metadata.get("conflict_losers"):
            print_text(f"    wins over {visible(', '.join(losers))} (same conflict key)", dim=True)
        lines = item.content.split("\n") if full else best_lines(item.content, query)[1]
        for text in lines:
            shown = visible(text)
            print_text("    " + (shown if full or len(shown) <= 200 else shown[:199] + "…"))
    if not result.evidence:
        sentences = {
            "nothing_found": "Nothing found.",
            "incomplete": "Nothing found, but not everything could be searched (below).",
        }
        by = next((t.detail["below_floor_by"] for t in result.traces if "below_floor_by" in t.detail), None)
        far = "" if by is None else f" What came nearest is too far from the question ({by:.3f} below the floor)"
        weak = f"{far}; `--no-floor` shows it." if far else ""
        echo(sentences.get(result.state, result.state) + weak)
    if missing := missing_words(query, result.evidence):
        print_text(f"Missing:  {visible(', '.join(missing))} (in none of these texts)", fg="yellow")
    if result.plan.reason.startswith("language model"):
        print_text(f"Plan:     {result.plan.reason}, {_plan_words(result.plan)}", dim=True)
    ran = "  ".join(
        f"{t.tool_name} {t.state}{f' {t.eligible_count}' if t.eligible_count else ''}" for t in result.traces
    )
    print_text(f"Channels: {ran}", dim=True)
    for degradation in result.degradations:
        detail = ", ".join(f"{key} {value}" for key, value in degradation.detail.items())
        name = f"{degradation.tool_name}: " if degradation.tool_name else ""
        print_text(f"Weaker:   {name}{degradation.code} ({detail or REASON_TEXT[degradation.code]})", fg="yellow")
    for rejection in result.rejections:
        print_text(f"Refused:  {rejection.tool_name}: {rejection.code} x{rejection.count}", fg="yellow")
    words = "partial" if result.partial else "complete"
    print_text(
        f"Retrieval {result.retrieval_id}: {result.state}, {words}. `arr show {result.retrieval_id}` shows it again.",
        dim=True,
    )


def _plan_words(plan: Any) -> str:
    """The plan's rounds as channel names; an asterisk where the query was rewritten."""
    words = " then ".join(
        " ".join(call.tool + "*" * (call.query is not None) for call in calls) for calls in plan.tool_rounds
    )
    return words + " (*: a rewritten query)" * ("*" in words)


def freshness_words(state: str, certificate: Mapping[str, Any]) -> str:
    """The state of a file and, where it changed, what a person has to look at."""
    spans = {
        name: _lines(*certificate[name])
        for name in ("stands_at", "changed_lines", "indexed_lines")
        if name in certificate
    }
    if state != "changed" or not spans:
        return state
    if "stands_at" in spans:
        return f"changed elsewhere, this text still stands at {spans['stands_at']}"
    if "changed_lines" not in spans:
        return f"changed (its lines {spans['indexed_lines']} are gone)"
    first, last = certificate["changed_lines"]
    if "indexed_lines" not in spans:
        return f"changed (line{'s' * (first != last)} {spans['changed_lines']} came in)"
    return f"changed (line{' ' if first == last else 's '}{spans['changed_lines']} differ{'s' * (first == last)})"


def _lines(first: int, last: int) -> str:
    return f"{first}" if first == last else f"{first}-{last}"


@click.command()
@click.argument("query")
@click.option(
    "--plan", "plan_file", type=click.File("r", encoding="utf-8"), help="Judge this plan (JSON) instead of the rules'."
)
@project_options
@json_option
def plan(query: str, plan_file: Any, where: Where, as_json: bool) -> None:
    """Show the plan for QUERY and the verdict on each call. Runs nothing and writes nothing.

    \b
    Example:
      arr plan "NCCL timeout"
    """
    with where.open() as database:
        made, verdicts = database.plan(query, _read_plan(plan_file))
    if as_json:
        print_json(
            {
                "plan": made.model_dump(mode="json"),
                "verdicts": [
                    {
                        "round": v.round_index,
                        "tool": v.tool_name,
                        "admitted": v.is_admitted,
                        "code": v.code and str(v.code),
                    }
                    for v in verdicts
                ],
            }
        )
        return
    rows = [
        [v.round_index + 1, v.tool_name, "admitted" if v.is_admitted else f"refused: {v.code}", v.query]
        for v in verdicts
    ]
    print_table(f"Plan ({made.reason or 'given'})", ["round", "channel", "verdict", "query"], rows)


@click.command()
@click.argument("item", type=NAME)
@click.option(
    "--html",
    "html",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write a retrieval as one self-contained page (extra `ui`).",
)
@click.option("--force", is_flag=True, help="With --html: replace FILE.")
@click.option(
    "--lang", type=click.Choice(["en", "zh"]), default="en", show_default=True, help="With --html: the page's language."
)
@project_options
@json_option
def show(item: str, html: Path | None, force: bool, lang: str, where: Where, as_json: bool) -> None:
    """Show a past retrieval (r...), a memory (memory:ID) or a chunk (c...).

    \b
    Example:
      arr show r1-0a1b2c3d
      arr show r1-0a1b2c3d --html retrieval.html
    """
    if html is not None:
        _write_report(item, html, force, lang, where, as_json)
        return
    from arr_sql.errors import InputError

    with where.open() as database:
        if item.startswith("memory:"):
            value: dict[str, Any] = database.memory(item.removeprefix("memory:")).model_dump(mode="json")
        elif item.startswith("c") and len(item) == 21:
            value = database.chunk(item)
        elif not item.startswith("r"):
            raise InputError(
                f"There is no '{item}' that can be shown: a retrieval is r..., a memory is memory:ID, and a chunk is c with 20 "
                "letters and digits behind it, as `arr search --json` prints it."
            )
        else:
            value = database.retrievals(item)[0]
    if as_json:
        print_json(value)
    elif "record_hash" in value:
        _print_record(value)
    else:
        content = value.pop("content")
        for name, part in value.items():
            echo(f"{name}: {visible(part if isinstance(part, str) else json.dumps(part, ensure_ascii=False))}")
        echo(f"\n{visible(content)}")


def _write_report(item: str, file: Path, force: bool, lang: str, where: Where, as_json: bool) -> None:
    """One retrieval as a page in ``file``; an existing file is kept unless ``force``."""
    from arr_sql import __version__
    from arr_sql.errors import InputError

    try:
        from arr_sql.serve.pages.retrieval_page import view_of_record
        from arr_sql.serve.render import report_page
    except ImportError as error:
        raise InputError(
            f"The page needs the extra `ui` ({error.name} is not installed). Run: pip install 'arr-sql[ui]'"
        ) from None
    with where.open() as database:
        view = view_of_record(database.retrievals(item)[0])
        scope, is_read = str(database.scope), database.is_read(file)
    text = report_page(view, scope=scope, version=__version__, language="zh" if lang == "zh" else "en")
    try:
        with open(file, "w" if force else "x", encoding="utf-8", errors="replace", newline="\n") as out:
            out.write(text)
    except FileExistsError:
        raise InputError(f"'{file}' exists already. Name a new file, or replace it with --force.") from None
    except OSError as error:
        raise InputError(
            f"'{file}' can't be written ({error.strerror}). Name a file in a folder you may write to."
        ) from None
    advise_elsewhere(file, is_read)
    gone = sum(found.is_gone for found in view.items)
    if as_json:
        print_json(
            {"file": str(file), "retrieval_id": view.retrieval_id, "evidence": len(view.items), "without_text": gone}
        )
        return
    count = "1 piece" if len(view.items) == 1 else f"{len(view.items)} pieces"
    echo(f"Wrote {visible(str(file))}: retrieval {view.retrieval_id}, {count} of evidence.")
    if gone:
        echo(f"The store no longer has the text of {gone} of them; their hashes are in the page.")
    note("It holds the query and passages of your files and memories: send it only to those who may read them.")


def _print_record(record: dict[str, Any]) -> None:
    echo(f"Retrieval {record['retrieval_id']} at {record['at']} by {visible(record['actor'])}")
    echo(f"Query: {visible(record['query'] or '(kept as hash ' + record['query_hash'][:16] + '...)')}")
    words = "partial" if record["partial"] else "complete"
    echo(
        f"State: {record['state']}, {words}; scope revision {record['scope_revision']}; {record['duration_ms']:.0f} ms"
    )
    rows = [
        [item["rank"], item["source_ref"], item["locator"], item["freshness"],
         " ".join(f"{c['channel']}#{c['rank']}" for c in item["channels"]), item["rerank_score"], item["rerank_reason"]]
        for item in record["evidence"]
    ]  # fmt: skip
    print_table("Evidence", ["rank", "source", "locator", "then", "found by", "score", "parts of the score"], rows)
    traces = [[t["round_index"] + 1, t["tool_name"], t["state"], t["candidate_count"], t["eligible_count"], t["duration_ms"], t["reason"]]
              for t in record["traces"]]  # fmt: skip
    print_table("Channels", ["round", "channel", "state", "matched", "returned", "ms", "reason"], traces)
    if record["language_model"] is not None:
        told = record["language_model"]
        parts = [
            f"{name} {told[name]['outcome']} ({told[name]['prompt']})"
            for name in ("planner", "reranker")
            if name in told
        ]
        echo(f"Language model: {visible(told['model'] or 'none')}; {', '.join(parts)}")
    for name in ("rejections", "degradations"):
        for item in record[name]:
            echo(f"{name[:-1]}: {item['tool_name']} {item['code']} {json.dumps(item.get('detail') or {})}")
