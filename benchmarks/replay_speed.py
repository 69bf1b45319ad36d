"""How long does a replay take in a scope of many chunks?

    python -m benchmarks.replay_speed [--chunks 10000] [--json FILE]

Prints the time of one search, of one replay (which copies the scope and indexes it anew) and of replaying 20 retrievals
at five revisions together. Vectors have 384 components, as the default model's; they are made without a model.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from arr_sql.core.research_models import ScopeKey
from arr_sql.database import ResearchDatabase
from arr_sql.index.embedders.protocol import EmbedderSpec

SCOPE = ScopeKey(team_id="t", project_id="p", repository="r", branch="main", experiment_environment="e")
PLAN = {"tool_rounds": [["research-memory", "bm25", "vector"]]}


class RandomVectors:
    """Unit vectors that depend on the text alone."""

    spec = EmbedderSpec(id="random", revision="1", dimension=384, window_tokens=512)

    def embed_queries(self, texts: Sequence[str]) -> list[bytes | None]:
        """One vector a text."""
        import numpy as np

        found: list[bytes | None] = []
        for text in texts:
            values = np.random.default_rng(abs(hash(text)) % 2**32).standard_normal(384)
            found.append((values / np.linalg.norm(values)).astype("<f4").tobytes())
        return found

    embed_passages = embed_queries


def main(chunks: int, report: Path | None) -> None:
    """Build the scope, search, replay."""
    rng = random.Random(1)
    words = ["".join(rng.choices("abcdefghijklmnop", k=rng.randint(3, 9))) for _ in range(5000)]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "notes"
        folder.mkdir()
        per_file = 50
        for number in range(chunks // per_file):
            parts = [f"## {rng.choice(words)}\n\n{' '.join(rng.choices(words, k=120))}\n" for _ in range(per_file)]
            (folder / f"{number}.md").write_text("\n".join(parts), "utf-8")
        with ResearchDatabase.create(
            folder.parent / "b.db", SCOPE, project_folder=folder.parent, actor="b", embedder=RandomVectors
        ) as database:
            database.add(folder)
            database.embed()
            print(f"{database.status()['chunks']} chunks, {database.path.stat().st_size / 1e6:.0f} MB")
            ids = []
            for step in range(5):
                for _ in range(4):
                    started = time.perf_counter()
                    ids.append(database.search(" ".join(rng.choices(words, k=5)), plan=PLAN).retrieval_id)
                    took = time.perf_counter() - started
                (folder / f"{step}.md").write_text(
                    f"# {rng.choice(words)}\n\n{' '.join(rng.choices(words, k=120))}\n", "utf-8"
                )
                database.sync()
                database.embed()
            rows: list[list[str]] = [[f"one search, {chunks:,} chunks", f"{took * 1000:.0f} ms"]]

            def say(what: str, begun: float) -> None:
                rows.append([what, f"{time.perf_counter() - begun:.1f} s"])

            started = time.perf_counter()
            assert database.replay(ids[0]).outcome == "identical"
            say("one replay", started)
            started = time.perf_counter()
            assert {item.outcome for item in database.replay_all()} == {"identical"}
            say("twenty replays at five revisions", started)
            started = time.perf_counter()
            assert database.check().passed
            say("arr db check", started)
    for what, figure in rows:
        print(f"{what}: {figure}")
    if report is not None:
        report.write_text(json.dumps({"rows": rows}, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chunks", type=int, default=10_000)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    main(options.chunks, options.json)
