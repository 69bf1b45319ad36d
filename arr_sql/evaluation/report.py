"""A run as tables of text, and as one page of HTML that needs no script, no network and no other file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from typing import Any

from arr_sql.evaluation.lost import STAGES
from arr_sql.evaluation.modes import MODE_TEXT, RERANKED, SEARCH
from arr_sql.evaluation.research_eval import metric_names
from arr_sql.evaluation.svg import bars, curves

Table = tuple[str, list[str], list[list[str]]]
"""Title, columns, rows."""
_SHORT = {"research-memory": "memory"}
WORST = 40
"""Topics shown one by one: those with the lowest nDCG."""


def tables(data: Mapping[str, Any]) -> list[Table]:
    """What a terminal shows: modes, classes, languages, what was lost, errors, the store."""
    recall, mrr, ndcg, ap = metric_names(data["k"])
    found = [
        (
            "Modes", ["mode", recall, mrr, ndcg, "95 %", ap, "leaks", "false answers", "p50 ms", "p95 ms"],
            [
                [_SHORT.get(mode, mode), _share(row[recall]), _share(row[mrr]), _share(row[ndcg]), _interval(row["intervals"][ndcg]),
                 _share(row[ap]), str(row["scope_leak_count"]), _rate(row), f"{row['latency_ms']['p50']:.1f}",
                 f"{row['latency_ms']['p95']:.1f}"]
                for mode, row in data["modes"].items()
            ],
        ),
        _groups(data, "by_class", "Classes", ndcg),
        _groups(data, "by_language", "Languages", ndcg),
        (
            "Relevant items", ["stage", "items", "what it means"],
            [[stage, str(data["lost"][stage]), text] for stage, text in STAGES.items() if data["lost"].get(stage)],
        ),
        ("Errors", ["mode", "code", "topics"],
         [[mode, code, str(n)] for mode, codes in data["errors"].items() for code, n in codes.items()]),
        ("Store", ["what", "value"], [[name, f"{value:,}" if isinstance(value, int) and not isinstance(value, bool)
                                       else str(value)] for name, value in data["build"].items()]),
    ]  # fmt: skip
    return [table for table in found if table[2]]


def _groups(data: Mapping[str, Any], key: str, title: str, metric: str) -> Table:
    """The metric of each group (of n topics) in each mode; the rate of false answers where a group has no answer."""
    modes = list(data["modes"])
    names = sorted({name for row in data["modes"].values() for name in row[key]})
    rows = []
    for name in names:
        cells = [data["modes"][mode][key][name] for mode in modes]
        size = cells[0]["topics"] + cells[0]["topics_without_answer"]
        rows.append([name, str(size), *(_cell(cell, metric) for cell in cells)])
    return f"{title}: {metric}", [key.removeprefix("by_"), "n", *(_SHORT.get(mode, mode) for mode in modes)], rows


def _cell(cell: Mapping[str, Any], metric: str) -> str:
    return f"{cell[metric]:.3f}" if cell["topics"] else f"{cell['false_answer_rate']:.0%} false"


def _share(value: float) -> str:
    return f"{value:.4f}"


def _interval(pair: Sequence[float]) -> str:
    return f"{pair[0]:.3f}-{pair[1]:.3f}"


def _rate(row: Mapping[str, Any]) -> str:
    return f"{row['false_answer_rate']:.3f}" if row["topics_without_answer"] else "-"


# --- HTML -------------------------------------------------------------------------------------------------------------


def html_page(data: Mapping[str, Any]) -> str:
    """The whole report as one page: plots as inline SVG, light and dark by the reader's own setting."""
    recall, mrr, ndcg, _ = metric_names(data["k"])
    gold, modes = data["gold"], data["modes"]
    best = next((mode for mode in (SEARCH, RERANKED) if mode in modes), next(iter(modes)))
    head, summary = modes[best], tables(data)
    cards = [
        (ndcg, _share(head[ndcg]), f"95 % {_interval(head['intervals'][ndcg])}"),
        (recall, _share(head[recall]), f"95 % {_interval(head['intervals'][recall])}"),
        (mrr, _share(head[mrr]), f"95 % {_interval(head['intervals'][mrr])}"),
        ("scope_leak_count", str(head["scope_leak_count"]), "items of another scope"),
        ("false_answer_rate", _rate(head), f"of {head['topics_without_answer']} topics without an answer"),
    ]
    legend = "".join(f"<li><b>{escape(mode)}</b> {escape(MODE_TEXT[mode])}</li>" for mode in modes)
    parts = [
        f"<h1>{escape(gold['name'])} <small>{escape(gold['version'])}</small></h1>",
        f"<p class='lead'>{data['n_topics']} topics. Figures of <b>{escape(best)}</b>: {escape(MODE_TEXT[best])}.</p>",
        "<section class='cards'>",
        *(f"<div><span>{escape(name)}</span><b>{value}</b><small>{escape(text)}</small></div>" for name, value, text in cards),
        "</section>",
        f"<h2>{ndcg} by mode</h2><figure>",
        bars(f"{ndcg} by mode, with 95 % bootstrap intervals",
             [(mode, row[ndcg], tuple(row["intervals"][ndcg])) for mode, row in modes.items()], best),
        "<figcaption>Bars: the mean over topics with an answer. Lines: 95 % bootstrap interval.</figcaption></figure>",
        "<h2>Recall by depth</h2><figure>",
        curves("Recall by depth", [(mode, row["recall_curve"]) for mode, row in modes.items()], best),
        "<figcaption>The share of the relevant items among the first 1 to 100.</figcaption></figure>",
        *(_table(table) for table in summary),
        _worst(data, best, ndcg),
        f"<h2>Modes</h2><ul>{legend}</ul>",
    ]  # fmt: skip
    program = data.get("program", {})
    foot = ", ".join(f"{name} {value}" for name, value in program.items())
    style = files(__package__).joinpath("report.css").read_text("utf-8")
    return (
        "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        "<meta http-equiv='Content-Security-Policy' content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        "<meta name='color-scheme' content='light dark'>"
        f"<title>Evaluation: {escape(gold['name'])}</title><style>{style}</style></head>"
        f"<body><main>{''.join(parts)}</main><footer>{escape(foot)}<br>set {escape(gold['fingerprint'])}</footer></body></html>\n"
    )


def _table(table: Table, open_at_first: bool = True) -> str:
    title, columns, rows = table
    head = "".join(f"<th scope='col'>{escape(column)}</th>" for column in columns)
    body = "".join(
        f"<tr><th scope='row'>{escape(row[0])}</th>{''.join(_td(cell) for cell in row[1:])}</tr>" for row in rows
    )
    return f"<h2>{escape(title)}</h2><div class='wide'><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"


def _td(cell: str) -> str:
    """Shares are shaded: 0 is the page's colour, 1 the accent."""
    try:
        shade = f" class='share' style='--share:{float(cell):.3f}'" if len(cell) in (5, 6) and cell[1] == "." else ""
    except ValueError:
        shade = ""
    return f"<td{shade}>{escape(cell)}</td>"


def _worst(data: Mapping[str, Any], mode: str, metric: str) -> str:
    """Topics one by one, lowest first. The page holds no query: a report may be shown to others than the set."""
    rows = sorted(
        (t for t in data["topics"] if t["has_answer"]), key=lambda t: (t["modes"][mode][metric], t["topic_id"])
    )
    items = []
    for topic in rows[:WORST]:
        paths = "".join(
            f"<tr><th scope='row'>{escape(path['item'])}</th><td>{path['grade']}</td><td>{escape(path['stage'])}</td>"
            + "".join(f"<td>{rank if rank is not None else '-'}</td>" for rank in path["channels"].values())
            + f"<td>{path['fused'] or '-'}</td><td>{path['reranked'] or '-'}</td></tr>"
            for path in topic["relevant"]
        )
        names = [*topic["relevant"][0]["channels"], "fused", "reranked"]
        head = "".join(f"<th scope='col'>{escape(name)}</th>" for name in ("item", "grade", "stage", *names))
        items.append(
            f"<details><summary>{escape(topic['topic_id'])} <small>{escape(topic['class'])} {escape(topic['language'])}</small>"
            f" <b>{topic['modes'][mode][metric]:.3f}</b></summary><div class='wide'><table><thead><tr>{head}</tr></thead>"
            f"<tbody>{paths}</tbody></table></div></details>"
        )
    return f"<h2>Topics, lowest {escape(metric)} first</h2><p>The rank of each relevant item, stage by stage.</p>{''.join(items)}"
