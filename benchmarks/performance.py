"""The figures that docs/performance.md prints: run a benchmark, keep what it measured as rows, read the kept rows.

    python -m benchmarks.performance NAME ... [--data FOLDER] [--cache FOLDER] [--from RUN.json]

runs each named benchmark as its command says, and writes ``benchmarks/figures/NAME.json``: date, machine, command, and rows.
``--from`` keeps a run that was made before. Then ``cog -r docs/performance.md`` and ``python docs/_performance.py`` bring the
page and its chart up to date. A new benchmark is one entry in ``BENCHMARKS``: its command, and a function from its
report to rows.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import Any, Literal

FIGURES = Path(__file__).with_name("figures")


@dataclass(frozen=True)
class Row:
    """One line of a table: what was measured, the figure, and where there is a promise, the ratio and its bound."""

    what: str
    figure: str
    ratio: float | None = None
    of: str = ""
    bound: float | None = None
    bound_is: Literal["most", "least"] = "most"

    @property
    def share(self) -> float | None:
        """How much of the bound is used: at most 1 where the promise is kept."""
        if self.ratio is None or self.bound is None:
            return None
        return self.ratio / self.bound if self.bound_is == "most" else self.bound / self.ratio


@dataclass(frozen=True)
class Benchmark:
    """``command`` holds {data}, {cache} and {json} where they go; without {json} the report is what it prints."""

    title: str
    command: str
    rows: Callable[[Any], list[Row]]


def _ms(value: float) -> str:
    return f"{value:,.0f} ms" if value >= 100 else f"{value:.1f} ms"


def whole_search(report: Any) -> list[Row]:
    """The whole search, its slowest channel, the peers and the quality."""
    found = []
    for corpus in report["corpora"]:
        figures, name = corpus["figures"], corpus["name"]
        bound = "1.5 times the slowest channel alone and one committed row"
        for key, value in figures.items():
            quality = corpus.get("ndcg_at_10", {}).get(key)
            figure = _ms(value["p50_ms"]) + (f", nDCG@10 {quality:.3f}" if quality is not None else "")
            ratio = (corpus["whole / bound"], bound, 1.0) if key == "whole" else (None, "", None)
            found.append(Row(f"{name}: {key}", figure, *ratio))
        peer = corpus.get("quickest peer")
        for key in ("whole", "whole, without grep") if peer else ():
            found.append(
                Row(f"{name}: {key}", _ms(figures[key]["p50_ms"]), corpus[f"{key} / quickest peer"], peer, 0.5)
            )
        shares = ", ".join(f"{stage} {share:.0%}" for stage, share in corpus["shares"].items())
        first = ", ".join(f"{took:.0f}" for took in corpus.get("first_ms", ()))
        found += [Row(f"{name}: the first questions after opening", f"{first} ms")] if first else []
        found.append(Row(f"{name}: where the time goes", shares))
    return found


def cost_isolation(report: Any) -> list[Row]:
    """Each plan alone and among the others."""
    others = f"alone ({report['others']:,} chunks of other scopes in the file)"
    return [
        Row(
            kind,
            f"{_ms(files['alone']['p50_ms'])} alone, {_ms(files['among others']['p50_ms'])} among others",
            report["ratios"][kind]["p50_ms"],
            others,
            1.2 if kind in ("search, hot", "search, cold") else None,
        )
        for kind, files in report["figures"].items()
    ] + [Row("answers that differ", str(report["different"]))]


def start_up(report: Any) -> list[Row]:
    """Each command beside `import click`."""
    bounds = {"arr --help": 2.0, "arr search QUESTION": 6.0}
    click = "python -c 'import click'"
    return [
        Row(name, _ms(value["p50_ms"]), None if name == click else report["ratios"][name]["p50_ms"],
            "" if name == click else "`import click`", bounds.get(name))
        for name, value in report["figures"].items()
    ]  # fmt: skip


def server_calls(report: Any) -> list[Row]:
    """A call with and without what the server keeps."""
    memory, none = (report["figures"][name]["p50_ms"] for name in ("memory", "none"))
    return [
        Row("a search through MCP", _ms(memory), memory / none, "nothing kept between calls"),
        Row("nothing kept between calls", _ms(none)),
        Row("answers that differ", str(report["differ"])),
    ]


def bm25_speed(report: Any) -> list[Row]:
    """The channel cold and hot beside its peers."""
    bounds = {"ours cold / FTS5 cold": 0.6, "ours hot / bm25s": 1.0}
    found = [Row(name.replace("ours", "the channel,"), _ms(v["p50_ms"])) for name, v in report["figures"].items()]
    for name, ratio in report["ratios"].items():
        ours, _, peer = name.partition(" / ")
        own = ours.replace("ours", "the channel,")
        found.append(Row(own, _ms(report["figures"][ours]["p50_ms"]), ratio["p50_ms"], peer, bounds.get(name)))
    return [*found, Row("answers that differ from the exhaustive statement", str(report["wrong"]))]


def vector_search(report: Any) -> list[Row]:
    """The channel hot and cold beside NumPy and sqlite-vec."""
    names = {
        "numpy": "NumPy: float32 product and top-k in memory", "hot": "the channel, hot", "cold": "the channel, cold",
        "sqlite_vec_scan": "sqlite-vec, its function over an ordinary table", "sqlite_vec_own_table": "sqlite-vec, `vec0`",
        "cold_small_scope": "the channel, cold, a scope of a hundredth",
    }  # fmt: skip
    bounds = {"hot / numpy": 1.0, "cold / sqlite_vec_scan": 1.2, "cold_small_scope / cold": 0.05}
    found = [Row(names[name], _ms(value)) for name, value in report["median_ms"].items()]
    for name, bound in bounds.items():
        one, _, other = name.partition(" / ")
        found.append(Row(names[one], _ms(report["median_ms"][one]), report[name]["of_medians"], names[other], bound))
    recall = report["recall"]["hot"]
    return [*found, Row(f"recall@{report['k']}, hot", f"{recall:.4f}", recall, "exact", 0.995, "least")]


def ingestion(report: Any) -> list[Row]:
    """Rate, memory and size beside a plain FTS5 table."""
    rate = report["chunks"] / report["arr_seconds"]
    plain = report["chunks"] / report["fts5_seconds"]
    return [
        Row("`arr add --no-embed`", f"{rate:,.0f} chunks a second", report["rate_ratio"], "a default FTS5 table", 0.3, "least"),
        Row("a default FTS5 table, one transaction", f"{plain:,.0f} chunks a second"),
        Row("memory of all processes", f"{report['arr_together_mb']:.0f} MB", report["arr_together_mb"] / 600, "600 MB", 1.0),
        Row("file", f"{report['file_bytes'] / 1e6:.0f} MB", report["size_ratio"], "the text", 2.2),
        Row("file, a chunk", f"{report['bytes_per_chunk']:,.0f} bytes, {report['bytes_per_chunk_with_vectors']:,.0f} with vectors"),
    ]  # fmt: skip


def ingestion_embedding(report: Any) -> list[Row]:
    """Adding with the default embedder beside the engine alone."""
    figure = f"{report['chunks_a_second']:.1f} chunks a second"
    return [Row("`arr add` with the default model", figure, report["ratio"], "the engine alone", 0.9, "least")]


def ingestion_readers(report: Any) -> list[Row]:
    """A reader beside a sync."""
    idle = f"{_ms(report['idle_p50_ms'])}, 99 of 100 within {_ms(report['idle_p99_ms'])}"
    beside = f"{_ms(report['beside_p50_ms'])}, 99 of 100 within {_ms(report['beside_p99_ms'])}"
    ratio = report["beside_p99_ms"] / report["idle_p99_ms"]
    return [
        Row("a search, nobody writing", idle),
        Row("a search beside a sync", beside, ratio, "the slowest of 100 idle"),
    ]


def embedding_speed(report: Any) -> list[Row]:
    """Each engine of the default model."""
    return [
        Row(name, f"{value['passages_a_second']} passages a second, a question {value['query_ms']} ms",
            value["times_plain"], "the first engine (times as fast)")
        for name, value in report.items() if isinstance(value, dict)
    ]  # fmt: skip


def fleet_of_files(report: Any) -> list[Row]:
    """What each file costs."""
    each = report["descriptors_each"]
    return [
        Row("an empty store", f"{report['empty_bytes'] / 1e3:,.0f} kB, made in {_ms(report['created_ms'])}"),
        Row("opened, asked once, closed", _ms(report["opened_ms"])),
        Row(
            f"held open ({report['held_open']:,} at once)",
            f"{report['bytes_each'] / 1e3:,.0f} kB of memory" + ("" if each is None else f", {each:.0f} descriptors"),
        ),
    ]


def grep_speed(report: Any) -> list[Row]:
    """Each class of identifiers beside ripgrep, and whether the same lines were found."""
    found = []
    for kind, figures in report["figures"].items():
        for name in ("warm", "warm, any case", "cold"):
            ratio = figures[name]["ratio"]["p50"]
            bound = 0.5 if (kind, name) == ("all", "warm") else None
            figure = f"{_ms(figures[name]['wall_ms']['p50'])}, processor {_ms(figures[name]['processor_ms'])}"
            found.append(Row(f"{kind}: {name}", figure, ratio, "ripgrep on all cores", bound))
        beside = figures["ripgrep"]
        figure = f"{_ms(beside['wall_ms']['p50'])}, processor {_ms(beside['processor_ms'])}"
        found.append(Row(f"{kind}: ripgrep", figure))
    return [
        *found,
        Row("files", f"{report['files']:,}, {report['bytes'] / 1e6:,.0f} MB"),
        Row("lines found by both", f"{report['lines_of_both']:,}"),
        Row("lines found by one alone", ", ".join(f"{n} {why}" for why, n in report["lines_of_one"].items()) or "0"),
    ]


def replica_kill(report: Any) -> list[Row]:
    """What a killed writer lost, and whether the copy answers as the file did."""
    rounds = report["rounds"]
    replayed, identical = sum(one["replayed"] for one in rounds), sum(one["identical"] for one in rounds)
    return [
        Row("kills", f"{len(rounds)}, {sum(one['passed'] for one in rounds)} copies whole"),
        Row("lag", ", ".join(f"{one['lag']:.2f} s" for one in rounds)),
        Row("acknowledged steps lost", ", ".join(str(one["lost"]) for one in rounds)),
        Row(
            "retrievals run again on the copy",
            f"{replayed}, {identical} identical",
            identical / replayed,
            "all",
            1.0,
            "least",
        ),
    ]


def measured(report: Any) -> list[Row]:
    """Rows as a benchmark gives them itself: {"rows": [[what, figure, ratio, of, bound, "most" or "least"], ...]}."""
    return [Row(*row) for row in report["rows"]]


BENCHMARKS = {
    "whole_search": Benchmark(
        "A whole search",
        "python -m benchmarks.whole_search --judged {data}/scifact --cache {cache} --json {json}",
        whole_search,
    ),
    "cost_isolation": Benchmark(
        "Other scopes in the file", "python -m benchmarks.cost_isolation --json {json}", cost_isolation
    ),
    "start_up": Benchmark("A command's start", "python -m benchmarks.start_up --json {json}", start_up),
    "server_calls": Benchmark(
        "A server that is asked again", "python -m benchmarks.server_calls --json {json}", server_calls
    ),
    "bm25_speed": Benchmark("The channel bm25", "python -m benchmarks.bm25_speed --json {json}", bm25_speed),
    "vector_search": Benchmark("The channel vector", "python -m benchmarks.vector_search --json", vector_search),
    "grep_speed": Benchmark("Lines", "python -m benchmarks.grep_speed --each 3 --rounds 5 --json {json}", grep_speed),
    "ingestion": Benchmark("Taking text in", "python -m benchmarks.ingestion --json {json}", ingestion),
    "ingestion_embedding": Benchmark(
        "Taking text in, with vectors",
        "python -m benchmarks.ingestion --only embedding --json {json}",
        ingestion_embedding,
    ),
    "ingestion_readers": Benchmark(
        "Searching while text is taken in",
        "python -m benchmarks.ingestion --only readers --json {json}",
        ingestion_readers,
    ),
    "parallel_reading": Benchmark(
        "Reading on all cores", "python -m benchmarks.parallel_reading --json {json}", measured
    ),
    "sync_many_files": Benchmark(
        "A sync of many files", "python -m benchmarks.sync_many_files --json {json}", measured
    ),
    "embedding_speed": Benchmark(
        "The default model",
        "python -m benchmarks.embedding_speed {data}/scifact {data}/csl {data}/pubmedqa --json",
        embedding_speed,
    ),
    "replica_kill": Benchmark(
        "A copy on another machine", "python -m benchmarks.replica_kill --rounds 3 --json {json}", replica_kill
    ),
    "replay_speed": Benchmark("Replay", "python -m benchmarks.replay_speed --json {json}", measured),
    "fleet_of_files": Benchmark("Many files", "python -m benchmarks.fleet_of_files --json {json}", fleet_of_files),
}


@dataclass(frozen=True)
class Kept:
    """One benchmark's kept figures."""

    name: str
    title: str
    command: str
    on: str
    machine: str
    rows: tuple[Row, ...]


def kept() -> Iterator[Kept]:
    """All that is kept, in the order of ``BENCHMARKS``."""
    for name, benchmark in BENCHMARKS.items():
        path = FIGURES / f"{name}.json"
        if path.is_file():
            value = json.loads(path.read_text("utf-8"))
            rows = tuple(Row(**row) for row in value["rows"])
            yield Kept(name, benchmark.title, value["command"], value["on"], value["machine"], rows)


def shown_command(benchmark: Benchmark) -> str:
    """The command as a person types it."""
    words = benchmark.command.replace(" --json {json}", "").removesuffix(" --json")
    return words.format(data="DATA", cache="CACHE")


def machine() -> str:
    """What it ran on, as far as it matters: cores, load, Python."""
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    return f"{os.cpu_count()} cores ({platform.machine()}){load}, Python {platform.python_version()}"


def keep(name: str, report: Any) -> None:
    """Write a report's rows."""
    benchmark = BENCHMARKS[name]
    value = {
        "command": shown_command(benchmark), "on": date.today().isoformat(), "machine": machine(),
        "rows": [asdict(row) for row in benchmark.rows(report)],
    }  # fmt: skip
    FIGURES.mkdir(exist_ok=True)
    text = json.dumps(value, indent=1, ensure_ascii=False)
    (FIGURES / f"{name}.json").write_text(text + "\n", encoding="utf-8", newline="\n")


def run(benchmark: Benchmark, data: Path | None, cache: Path | None) -> Any:
    """Run a benchmark's command and read its report."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.json"
        filled = benchmark.command.format(
            data=shlex.quote(str(data)), cache=shlex.quote(str(cache)), json=shlex.quote(str(path))
        )
        words = [sys.executable, *shlex.split(filled)[1:]]
        done = subprocess.run(words, check=True, capture_output="{json}" not in benchmark.command)
        return json.loads(path.read_text("utf-8") if path.is_file() else done.stdout)


def main() -> None:
    """Run or read, and keep."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="+", choices=[*BENCHMARKS, "all"])
    parser.add_argument("--data", type=Path, help="the folder with the judged collections")
    parser.add_argument("--cache", type=Path, help="their vectors: see embedding_cache")
    parser.add_argument("--from", dest="report", type=Path, help="keep this report instead of running")
    options = parser.parse_args()
    names = list(BENCHMARKS) if "all" in options.names else options.names
    for name in names:
        benchmark = BENCHMARKS[name]
        if options.report is not None:
            keep(name, json.loads(options.report.read_text("utf-8")))
        elif "{data}" in benchmark.command and options.data is None:
            print(f"{name}: left out, it needs --data", file=sys.stderr)
        elif "{cache}" in benchmark.command and options.cache is None:
            print(f"{name}: left out, it needs --cache", file=sys.stderr)
        else:
            keep(name, run(benchmark, options.data, options.cache))


if __name__ == "__main__":
    main()
