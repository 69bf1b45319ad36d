"""The lines of a piece of evidence that answer a query best, for showing to people. Pure; never changes the text."""

from __future__ import annotations

from arr_sql.core.analysis import analyse, query_terms


def best_lines(content: str, query: str, count: int = 3) -> tuple[int, list[str]]:
    """The ``count`` lines in a row that hold the most of the query's terms: index of the first (from 0), and the lines."""
    lines = content.split("\n")
    wanted = query_terms(query)
    if len(lines) <= count or not wanted:
        return 0, lines[:count]
    found = [{term for term in analyse(line).terms if term in wanted} for line in lines]
    best, best_score = 0, -1.0
    for start in range(len(lines) - count + 1):
        window: set[str] = set().union(*found[start : start + count])
        score = sum(wanted[term] for term in window) + 0.01 * len(found[start])
        if score > best_score + 1e-9:
            best, best_score = start, score
    return best, lines[best : best + count]
