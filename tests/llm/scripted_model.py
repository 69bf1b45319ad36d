"""A good model, scripted: rewrites written from the queries alone, and scores taken from the judgements.

The rewrites are what a person wrote who had seen the topics' queries and none of the files. The scores are the grades
divided by three, so they show what a perfect reranker could add, not what a real one does.

    python -m tests.llm.scripted_model /tmp/gold-store

prints the table of docs/language-model.md, with vectors where the default embedding model is installed.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from arr_sql.database.evaluating import EvaluationStore
from arr_sql.evaluation.gold import load_gold
from arr_sql.evaluation.gold_models import GoldSet
from arr_sql.evaluation.store_protocol import GoldStore
from arr_sql.evaluation.units import Units
from arr_sql.llm.endpoint import Endpoint
from arr_sql.llm.language_model import LanguageModel
from arr_sql.llm.settings import LLMSettings
from benchmarks.llm_value import WAYS, measure, table
from tests.llm.servers import Behaviour, Request, Wire, hang_up, say, serving

GOLD = Path(__file__).resolve().parents[2] / "data" / "gold" / "research_zh_en"

REWRITES: dict[str, list[str]] = json.loads((Path(__file__).parent / "scripted_rewrites.json").read_text("utf-8"))
FIRST = ["research-memory", "bm25", "vector", "grep"]


def scripted(gold: GoldSet, store: GoldStore) -> Behaviour:
    """The model's server. It knows a topic by its query and a candidate by its text."""
    topics = {topic.query: topic for topic in gold.topics}
    texts = {alias: {c.chunk_id: c.content for c in store.chunks(alias)} for alias in gold.scopes}
    for memory in gold.memories:
        texts[memory.scope][f"memory:{memory.memory_id}"] = memory.content

    def behave(wire: Wire, request: Request) -> None:
        shown = json.loads(request.json["messages"][1]["content"])
        topic = topics[shown["query"]]
        if "tools" in shown:
            more = [
                {"tool": tool, "query": text}
                for text in REWRITES.get(topic.topic_id, [])
                for tool in ("bm25", "vector")
            ]
            reply: Any = {"version": "plan-1", "tool_rounds": [FIRST, more] if more else [FIRST]}
        else:
            units = Units(gold.judgements.get(topic.topic_id, ()), store.chunks(topic.scope))
            grades = [
                (texts[topic.scope][chunk_id].strip()[:300], unit.grade)
                for unit in units.units for chunk_id in unit.ids if chunk_id in texts[topic.scope]
            ]  # fmt: skip
            reply = {"version": "rank-1", "scores": [
                {"id": c["id"], "score": max([grade for text, grade in grades if text in c["text"]], default=0) / 3}
                for c in shown["candidates"]]}  # fmt: skip
        say(json.dumps(reply, ensure_ascii=False))(wire, request)

    return behave


def scripted_settings(url: str) -> LLMSettings:
    """The settings of a model on this machine."""
    return LLMSettings(
        is_enabled=True, endpoint=Endpoint(url), model="scripted", timeout_seconds=60, response_format="json_schema"
    )


def main(folder: Path) -> None:
    """Measure every way on the gold set."""
    gold = load_gold(GOLD)
    with serving(hang_up) as server:
        model = LanguageModel(scripted_settings(server.url))
        with EvaluationStore(folder, gold, language_model=lambda: model) as store:
            store.build()
            server.behave = scripted(gold, store)
            print(table(measure(gold, store, list(WAYS))))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
