"""A folder as people keep it, through the real commands: how was each file read, and is it found by words that stand in it?

    python -m benchmarks.untidy_folder PATH [--password WORD ...] [--json FILE]

PATH is copied, a project is made beside the copy, and `arr init`, `arr add` and `arr search` run as a person would run
them. For each file that was taken in, a phrase of three to six words is drawn from the middle of one of its chunks and
searched for; the table says at which rank the file came. Exit code 1 when a file has neither a row nor a reason, when a
command fails, or when a phrase is not found among the first ten.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from arr_sql.core.connection import open_reader

_WORD = re.compile(r"[^\W\d_]{3,}")
_HAN = re.compile(r"[\u4e00-\u9fff\u3040-\u30ff\uac00-\ud7af]{4,12}")
K = 10


def arr(project: Path, *arguments: str) -> str:
    """What the command prints. Raises SystemExit with its messages when it fails or shows a traceback."""
    ran = subprocess.run([sys.executable, "-m", "arr_sql", *arguments], cwd=project, capture_output=True)
    out, err = ran.stdout.decode("utf-8", "replace"), ran.stderr.decode("utf-8", "replace")
    if ran.returncode or "Traceback" in out + err:
        raise SystemExit(f"arr {' '.join(arguments)}: {ran.returncode}\n{out}\n{err}")
    return out


def phrase_of(texts: Sequence[str]) -> str:
    """Words that stand together in one of the texts, the first in the middle text; the longest run that is found."""
    middle = len(texts) // 2
    for text in [*texts[middle:], *texts[:middle]]:
        runs = _HAN.findall(text)
        if runs:
            return str(runs[len(runs) // 2])
        for line in sorted(text.split("\n"), key=len, reverse=True):
            words = list(_WORD.finditer(line))
            if len(words) >= 3:
                first = min(len(words) // 3, len(words) - 3)
                return line[words[first].start() : words[min(first + 5, len(words) - 1)].end()]
    return max((word for text in texts for word in re.findall(r"\w+", text)), key=len, default="")


def rank_of(project: Path, phrase: str, source_ref: str) -> int | None:
    """At which rank the file is answered, among the first ten."""
    found = json.loads(arr(project, "search", phrase, "--json", "-k", str(K)))["evidence"]
    names = list(dict.fromkeys(item["source_ref"] for item in found))
    return names.index(source_ref) + 1 if source_ref in names else None


def examine(source: Path, work: Path, passwords: Sequence[str]) -> list[dict[str, Any]]:
    """One row a file of ``source``, in order of the names."""
    copy, project = work / source.name, work / "project"
    shutil.copytree(source, copy)
    project.mkdir()
    arr(project, "init", "--team", "untidy")
    given = [part for word in passwords for part in ("--password", word)]
    arr(project, "add", str(copy), "--no-embed", *given)
    listed = json.loads(arr(project, "status", "--sources", "--json"))
    sources = {item["source_ref"]: item for item in listed["source_list"]}
    left_out = {item["source_ref"]: item["reason"] for item in listed["left_out_list"]}
    texts: dict[str, list[str]] = {}
    reader = open_reader(project / ".arr" / "arr.db")
    for row in reader.execute(
        "SELECT v.source_ref, c.content FROM chunk AS c JOIN source_version AS v ON v.source_id = c.source_id "
        "WHERE c.retired_revision IS NULL AND v.retired_revision IS NULL ORDER BY c.source_id, c.ordinal"
    ):
        texts.setdefault(row["source_ref"], []).append(row["content"])
    reader.close()
    rows: list[dict[str, Any]] = []
    for path in sorted(item for item in copy.rglob("*") if item.is_file() or item.is_symlink()):
        name = f"{source.name}/{path.relative_to(copy).as_posix()}"
        row: dict[str, Any] = {
            "file": name.partition("/")[2],
            "state": left_out.get(name, ""),
            "phrase": "",
            "rank": None,
        }
        found = sources.get(name)
        if found is not None:
            phrase = phrase_of(texts.get(name, []))
            row |= {
                "state": "searchable" if found["chunks"] else "no text", "reader": found["reader"],
                "encoding": found["encoding"], "confidence": found["encoding_confidence"], "chunks": found["chunks"],
                "warnings": found["warnings"], "phrase": phrase,
                "rank": rank_of(project, phrase, name) if phrase else None,
            }  # fmt: skip
        elif not row["state"]:
            folder = next((f"{parent}/" for parent in reversed(Path(name).parents) if f"{parent}/" in left_out), "")
            row["state"] = left_out.get(folder, "NOT ACCOUNTED FOR")
        rows.append(row)
    return rows


def is_fault(row: dict[str, Any]) -> bool:
    """Is the file lost: without a row and a reason, or not found by its own words?"""
    return row["state"] == "NOT ACCOUNTED FOR" or (row["state"] == "searchable" and row["rank"] is None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", type=Path)
    parser.add_argument("--password", action="append", default=[], help="Tried on encrypted PDFs; may be repeated.")
    parser.add_argument("--json", type=Path, help="Write the rows here too.")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        rows = examine(options.path.resolve(), Path(work), options.password)
    print(
        "| file | state | reader | encoding | confidence | chunks | phrase | rank |\n|---|---|---|---|---|---|---|---|"
    )
    for row in rows:
        cells = [
            row["file"],
            row["state"],
            *(row.get(name, "") for name in ("reader", "encoding", "confidence", "chunks")),
        ]
        phrase = row["phrase"].replace("|", "\\|")
        print("| " + " | ".join(map(str, [*cells, phrase, row["rank"] or ""])) + " |")
        for warning in row.get("warnings", ()):
            print(f"| | {warning} | | | | | | |")
    faults = [row["file"] for row in rows if is_fault(row)]
    counts = {state: sum(row["state"] == state for row in rows) for state in sorted({row["state"] for row in rows})}
    print(f"\n{len(rows)} files: " + ", ".join(f"{count} {state}" for state, count in counts.items()))
    print(
        f"NOT FOUND OR NOT NAMED: {', '.join(faults)}"
        if faults
        else "every file is found by its own words or named with a reason"
    )
    if options.json:
        options.json.write_text(json.dumps(rows, ensure_ascii=False, indent=1) + "\n", "utf-8")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
