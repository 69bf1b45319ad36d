"""docs/api.md: every public name with its signature, fields and first words, from the source itself.

The text of a signature is the source's own, not what ``inspect`` makes of it, which differs between Pythons. A changed
signature changes the page, so that ``cog --check`` (tests/docs/test_generated.py) stops a change that nobody meant.
"""

from __future__ import annotations

import ast
import inspect
import re
from functools import cache
from pathlib import Path
from typing import Any


def api_page() -> str:
    """A section for each public name: functions, the database with its methods, values with their fields, errors."""
    import arr_sql

    groups: dict[str, list[str]] = {"Functions": [], "The database": [], "Values": [], "Errors": []}
    for name in arr_sql.__all__:
        value = getattr(arr_sql, name)
        if name == "__version__":
            groups["Functions"].append("### \\_\\_version\\_\\_\n\nThe package's version, as text.\n")
        elif inspect.isfunction(value):
            groups["Functions"].append(_function(name, value))
        elif name == "ResearchDatabase":
            groups["The database"].append(_database(value))
        elif issubclass(value, Exception):
            groups["Errors"].append(f"### {name}\n\n{_paragraph(value)} See [Errors](errors.md).\n")
        else:
            groups["Values"].append(_value(name, value))
    return "\n".join(f"## {title}\n\n" + "\n".join(parts) for title, parts in groups.items() if parts)


@cache
def _tree(path: str) -> tuple[str, ast.Module]:
    source = Path(path).read_text("utf-8")
    return source, ast.parse(source)


def _node(value: Any) -> tuple[str, Any]:
    """The source of a class or function and its place in it."""
    value = inspect.unwrap(value)
    path = inspect.getsourcefile(value)
    assert path is not None
    source, tree = _tree(path)
    scope: Any = tree
    for part in value.__qualname__.split("."):
        scope = next(node for node in scope.body if getattr(node, "name", None) == part)
    return source, scope


def _signature(value: Any) -> str:
    source, node = _node(value)
    lines = source.splitlines()[node.lineno - 1 : node.body[0].lineno - 1]
    text = " ".join(line.split("  #")[0].strip() for line in lines)
    text = re.sub(r"\s+", " ", text).replace("( ", "(").replace(", )", ")").replace(" )", ")")
    text = text.replace("]]]", "]] ]")  # cog would take three for the end of its own code
    return text.removesuffix(":").removeprefix("async ").removeprefix("def ")


def _paragraph(value: Any) -> str:
    """The first paragraph of a docstring of its own, as Markdown."""
    doc = inspect.cleandoc(value.__dict__.get("__doc__") if isinstance(value, type) else value.__doc__ or "")
    text = " ".join(doc.split("\n\n")[0].split())
    return re.sub(r":\w+:`~?([^`]+)`", r"`\1`", text.replace("``", "`"))


def _function(name: str, value: Any) -> str:
    return f"### {name}\n\n```text\n{_signature(value)}\n```\n\n{_whole(value)}\n"


def _whole(value: Any) -> str:
    paragraphs = inspect.cleandoc(value.__doc__ or "").split("\n\n")
    texts = [" ".join(part.split()).replace("``", "`") for part in paragraphs]
    return "\n\n".join(re.sub(r":\w+:`~?([^`]+)`", r"`\1`", text) for text in texts)


def _database(value: Any) -> str:
    parts = [f"### ResearchDatabase\n\n{_paragraph(value)} `arr_sql.connect` gives one.\n"]
    for name, method in sorted(_methods(value).items()):
        parts.append(f"#### {name}\n\n```text\n{_signature(method)}\n```\n\n{_whole(method)}\n")
    return "\n".join(parts)


def _methods(value: type) -> dict[str, Any]:
    """Public methods of a class and of what it is made of, as functions."""
    found: dict[str, Any] = {}
    for kind in reversed(value.__mro__):
        for name, member in vars(kind).items():
            function = member.__func__ if isinstance(member, classmethod) else member
            if not name.startswith("_") and inspect.isfunction(function):
                found[name] = function
    return found


def _value(name: str, value: Any) -> str:
    parts = [f"### {name}\n\n{_whole(value)}\n"]
    source, node = _node(value)
    rows = [
        f"| `{field.target.id}` | `{_cell(ast.get_source_segment(source, field.annotation) or '')}` "
        f"| {_default(source, field)} |"
        for field in node.body if isinstance(field, ast.AnnAssign) and field.target.id != "model_config"
    ]  # fmt: skip
    if rows:
        parts.append("\n".join(["| field | type | default |", "|---|---|---|", *rows]) + "\n")
    elif name == "ReasonCode":
        parts.append("Its values are in [Reason codes](reason-codes.md).\n")
    checks = {item.name for item in node.body if isinstance(item, ast.FunctionDef) and item.decorator_list}
    methods = [m for n, m in vars(value).items() if inspect.isfunction(m) and not n.startswith("_") and n not in checks]
    parts += [f"- `{_signature(method)}`: {_paragraph(method)}" for method in methods]
    return "\n".join(parts) + ("\n" if methods else "")


def _default(source: str, field: Any) -> str:
    if field.value is None:
        return "required"
    return f"`{_cell(' '.join((ast.get_source_segment(source, field.value) or '').split()))}`"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("]]]", "]] ]")
