"""Run files as trec_eval reads them: ``DIR/MODE.run`` for each mode, and ``DIR/qrels.txt``."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

from arr_sql.evaluation.research_eval import Run


def write_trec(run: Run, folder: Path) -> list[Path]:
    """Write the files and name them. Ids are percent-encoded where they hold a space.

    The score is the number of items from this one to the end of the list: trec_eval orders by score, and so keeps ours.
    """
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for mode, topics in run.rankings.items():
        lines = [
            f"{_word(topic)} Q0 {_word(item)} {rank} {len(items) - rank + 1} {mode}\n"
            for topic, items in topics.items()
            for rank, item in enumerate(items, 1)
        ]
        written.append(_write(folder / f"{mode}.run", "".join(lines)))
    lines = [
        f"{_word(topic)} 0 {_word(item)} {grade}\n"
        for topic, grades in run.grades.items()
        for item, grade in sorted(grades.items())
    ]
    return [*written, _write(folder / "qrels.txt", "".join(lines))]


def _word(text: str) -> str:
    return quote(text, safe="/:#.,;=+*()[]{}<>!?@$&'\"~^|-_", errors="surrogatepass")


def _write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8", newline="\n")
    return path
