"""``arr llm check | prompts``: what a language model would be asked, by whom, and whether it answers."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import click

from arr_sql.cli._shared import echo, json_option, print_json, print_pairs, visible

if TYPE_CHECKING:
    from arr_sql.llm.language_model import LanguageModel

SAMPLE_QUERY = "learning rate warmup"
"""The only query that ``--send`` sends. It is nobody's."""


@click.group()
def llm() -> None:
    """The language model that may advise, off by default: check, prompts."""


@llm.command()
@click.option("--send", is_flag=True, help=f'Ask the model once, for a plan for "{SAMPLE_QUERY}".')
@json_option
def check(send: bool, as_json: bool) -> None:
    """Show what is configured and what would be sent. Opens no connection without --send.

    Exits with 1 when a setting is wrong or, with --send, when no valid plan comes back.

    \b
    Example:
      arr llm check
    """
    from arr_sql.llm.language_model import LanguageModel

    model = LanguageModel()
    found = _settings(model)
    tried = _tried(model) if send else None
    if as_json:
        print_json({**found, "request": _sample_request(model), "tried": tried})
    else:
        _print(found, tried)
    if found["problem"] or (tried is not None and tried["code"] is not None):
        raise click.exceptions.Exit(1)


def _settings(model: LanguageModel) -> dict[str, Any]:
    from arr_sql.llm.prompt_files import CURRENT

    settings = model.settings
    return {
        "enabled": settings.is_enabled, "problem": settings.problem, "endpoint": settings.endpoint.url,
        "model": settings.model, "key": "set" if settings.key is not None else "none",
        "timeout_seconds": settings.timeout_seconds, "response_format": settings.response_format,
        "prompts": dict(CURRENT),
    }  # fmt: skip


def _sample_request(model: LanguageModel) -> dict[str, Any]:
    """The whole body of the request that ``--send`` makes."""
    from arr_sql.llm.prompt_files import load_prompt
    from arr_sql.policy.llm_query_planner import CAPABILITIES, planner_ask

    return model.request_body(planner_ask(SAMPLE_QUERY, list(CAPABILITIES), load_prompt("planner")))


def _tried(model: LanguageModel) -> dict[str, Any]:
    """What came of asking once."""
    from arr_sql.llm.prompt_files import load_prompt
    from arr_sql.policy.llm_query_planner import CAPABILITIES, propose_plan

    started = time.monotonic()
    proposal = propose_plan(SAMPLE_QUERY, list(CAPABILITIES), model.asking(), load_prompt("planner"))
    rounds = proposal.plan.tool_rounds if proposal.plan is not None else ()
    return {
        "code": str(proposal.code) if proposal.code is not None else None, "detail": dict(proposal.detail),
        "ms": round(1000 * (time.monotonic() - started)), "stripped": list(proposal.stripped),
        "plan": [[call.tool for call in calls] for calls in rounds],
    }  # fmt: skip


def _print(found: dict[str, Any], tried: dict[str, Any] | None) -> None:
    from arr_sql.core.router_models import MAX_RERANKED, REASON_TEXT, ReasonCode
    from arr_sql.policy.llm_query_planner import CAPABILITIES
    from arr_sql.retrieval.llm_reranker import MAX_SHOWN

    shown = {"language model": "on" if found["enabled"] else "off: ARR_LLM_ENABLED is not set"}
    if found["problem"]:
        shown["problem"] = found["problem"]
    elif found["enabled"]:
        key = "set, never shown" if found["key"] == "set" else "none is sent to a server on this machine"
        shown |= {
            "endpoint": found["endpoint"], "model": found["model"], "key": key,
            "time limit": f"{found['timeout_seconds']:g} s a call", "reply format": found["response_format"],
            "prompts": ", ".join(found["prompts"].values()),
        }  # fmt: skip
    print_pairs("", shown)
    echo("\nWhat would be sent, and only by a search that asks for it:")
    echo("  --planner llm          the query, and for each channel its name and one sentence")
    for name, sentence in CAPABILITIES.items():
        echo(f"                           {name}: {sentence}")
    echo(
        f"  --rerank llm|hybrid    the query, and the texts of at most {MAX_RERANKED} candidates, {MAX_SHOWN:,} characters of each"
    )
    echo("Credentials are taken out first. Scopes, paths, ids and the rest of the archive are never sent.")
    if tried is None:
        echo(
            "\nReachable: not tried. `arr llm check --send` asks once; `arr llm check --json` shows that request whole."
        )
    elif tried["code"] is None:
        plan = " then ".join("+".join(calls) for calls in tried["plan"])
        echo(f"\nReachable: yes, a valid plan in {tried['ms']} ms: {visible(plan)}.")
    else:
        detail = f" {json.dumps(tried['detail'])}" if tried["detail"] else ""
        echo(f"\nAsked once: {tried['code']}{detail} after {tried['ms']} ms. {REASON_TEXT[ReasonCode(tried['code'])]}")


@llm.command()
@json_option
def prompts(as_json: bool) -> None:
    """Print the prompts in use, whole, with their versions.

    \b
    Example:
      arr llm prompts
    """
    from arr_sql.llm.prompt_files import CURRENT, load_prompt

    loaded = [load_prompt(purpose) for purpose in CURRENT]
    if as_json:
        print_json([{"purpose": p.purpose, "version": p.version, "text": p.text} for p in loaded])
        return
    echo("\n\n".join(f"--- {prompt.purpose}: {prompt.version} ---\n{prompt.text}" for prompt in loaded))
