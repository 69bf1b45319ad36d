"""The part of ``arr status`` that goes source by source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from arr_sql.cli._shared import echo, visible


def print_sources(listed: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
    """Each source with how it was read, then each file or folder left out with its reason."""
    from arr_sql.cli.source_commands import REASONS

    echo("Sources:")
    for item in listed["sources"]:
        parts = [item["reader"]]
        if item["encoding"] != "bytes":
            sure = item["encoding_confidence"]
            parts.append(item["encoding"] if sure == 1 else f"{item['encoding']} at {sure:.2f}")
        parts.append(f"{item['chunks']} chunk{'s' * (item['chunks'] != 1)}, {item['embedded']} with vectors")
        if item["lines_withheld"]:
            parts.append(f"{item['lines_withheld']} lines withheld")
        if item["freshness"] is not None:
            parts.append(item["freshness"])
        echo(f"  {visible(item['source_ref'])}  ({', '.join(parts)})")
        for warning in item["warnings"]:
            echo(f"    warning: {visible(warning)}")
    if not listed["sources"]:
        echo("  none")
    echo("Left out:")
    for item in listed["left_out"]:
        echo(f"  {visible(item['source_ref'])}  ({item['reason']}: {REASONS.get(item['reason'], item['reason'])})")
    if not listed["left_out"]:
        echo("  nothing")
