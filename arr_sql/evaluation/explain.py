"""One topic taken apart: what each channel answered, and where each relevant item was lost."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from arr_sql.core.router_models import ReasonCode
from arr_sql.errors import InputError
from arr_sql.evaluation.gold_models import GoldSet, Topic
from arr_sql.evaluation.lost import STAGES, path_of
from arr_sql.evaluation.modes import CHANNELS, RERANKED, mode_hits
from arr_sql.evaluation.research_eval import DEPTH
from arr_sql.evaluation.store_protocol import GoldStore
from arr_sql.evaluation.units import Units


def find_topic(gold: GoldSet, topic_id: str) -> Topic:
    """Raises InputError, naming near ones, when there is no such topic."""
    found = next((topic for topic in gold.topics if topic.topic_id == topic_id), None)
    if found is None:
        from difflib import get_close_matches

        near = get_close_matches(topic_id, [topic.topic_id for topic in gold.topics], 3) or [gold.topics[0].topic_id]
        raise InputError(f"There is no topic '{topic_id}' in '{gold.name}'. Near: {', '.join(near)}.")
    return found


def explain(gold: GoldSet, store: GoldStore, topic_id: str, k: int = 10) -> dict[str, Any]:
    """Plain data: the topic, each channel's state, the answer with grades, and the way of each judged item."""
    topic = find_topic(gold, topic_id)
    units = Units(gold.judgements.get(topic_id, ()), store.chunks(topic.scope))
    asked = store.ask(topic.scope, topic.query, DEPTH)
    said, _ = store.search(topic.scope, topic.query, DEPTH)
    is_below = any(item.code == ReasonCode.BELOW_FLOOR for item in said.rejections)
    result = store.search(topic.scope, topic.query, DEPTH, floor=False)[0] if is_below else said
    rankings = {name: units.ranking(hit.chunk_id for hit in mode_hits(name, asked)) for name in (*CHANNELS, "rrf-4")}
    answer = units.ranking(item.chunk_id for item in result.evidence)
    where = {item.chunk_id: f"{item.source_ref} {item.locator}".strip() for item in result.evidence}
    notes = {j.item.text: j.note for j in gold.judgements.get(topic_id, ())}
    paths = [
        path_of(unit, {name: rankings[name] for name in CHANNELS}, rankings["rrf-4"], answer, k, is_below)
        for unit in sorted(units.units, key=lambda unit: -unit.grade)
        if unit.grade > 0
    ]
    return {
        "topic": topic.model_dump(mode="json", by_alias=True), "state": said.state, "below_floor": is_below,
        "channels": {
            name: {"state": one.answer.state, "code": str(one.answer.code or ""), "candidates": len(one.answer.hits)}
            for name, one in asked.items()
        },
        "relevant": [{**asdict(path), "note": notes.get(path.item, ""), "meaning": STAGES[path.stage]} for path in paths],
        "answer": [
            {"rank": rank, "item": item, "where": where.get(item, ""), "grade": units.grades.get(item)}
            for rank, item in enumerate(answer[:k], 1)
        ],
        "mode": RERANKED,
    }  # fmt: skip
