"""A known-item set of code, made from the running Python's standard library.

Each function with a docstring is a document: its source without the docstring. The docstring's first sentence is the
query, and that function its one relevant document. Another Python gives another set; ``python -m
benchmarks.standard_library`` prints its size and hash.
"""

from __future__ import annotations

import ast
import hashlib
import re
import sysconfig
import warnings
from collections.abc import Iterator
from pathlib import Path

from benchmarks.judged_collection import Collection, Topic

LEFT_OUT = frozenset(
    {"site-packages", "dist-packages", "test", "tests", "idlelib", "lib2to3", "pydoc_data", "turtledemo", "__pycache__",
     "ensurepip", "_pyrepl", "lib-dynload"}
)  # fmt: skip
MOST = 3_000
"""Functions; those whose hash is smallest, so that the choice depends on no order."""
_Function = (ast.FunctionDef, ast.AsyncFunctionDef)


def standard_library(most: int = MOST) -> Collection:
    """At most ``most`` functions as a collection named ``standard_library``."""
    found: dict[str, tuple[str, str]] = {}
    for name, body, docstring in _functions():
        query = first_sentence(docstring)
        if len(re.findall(r"\w+", query)) >= 4 and len(body.splitlines()) >= 3:
            found[name] = (query, body)
    asked: dict[str, int] = {}
    for query, _ in found.values():
        asked[query] = asked.get(query, 0) + 1
    chosen = sorted(
        (name for name, (query, _) in found.items() if asked[query] == 1),  # a query must have one answer
        key=lambda name: hashlib.sha256(name.encode("utf-8")).digest(),
    )[:most]
    return Collection(
        "standard_library",
        [(name, "", found[name][1]) for name in sorted(chosen)],
        [Topic(found[name][0], {name: 1}, name) for name in sorted(chosen)],
    )


def first_sentence(docstring: str) -> str:
    """The first sentence of the first paragraph, in one line."""
    paragraph = " ".join(docstring.strip().split("\n\n")[0].split())
    match = re.match(r".+?[.!?](?=\s|$)", paragraph)
    return match[0] if match else paragraph


def _functions() -> Iterator[tuple[str, str, str]]:
    """(name, source without docstring, docstring) of each function of each module."""
    library = Path(sysconfig.get_paths()["stdlib"])
    for path in sorted(library.rglob("*.py")):
        parts = path.relative_to(library).parts
        if LEFT_OUT.isdisjoint(parts):
            try:
                text = path.read_text("utf-8")
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    tree = ast.parse(text)
            except (SyntaxError, UnicodeDecodeError):
                continue
            module = ".".join(parts).removesuffix(".py").removesuffix(".__init__")
            yield from _inside(tree, module, text.split("\n"))


def _inside(node: ast.AST, prefix: str, lines: list[str]) -> Iterator[tuple[str, str, str]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (*_Function, ast.ClassDef)):
            name = f"{prefix}.{child.name}"
            docstring = ast.get_docstring(child)
            if isinstance(child, _Function) and docstring:
                first = child.body[0]
                kept = lines[child.lineno - 1 : first.lineno - 1] + lines[first.end_lineno or 0 : child.end_lineno]
                yield name, "\n".join(kept), docstring
            yield from _inside(child, name, lines)


def main() -> None:
    """Print what the set is."""
    collection = standard_library()
    digest = hashlib.sha256()
    for document, topic in zip(collection.documents, collection.topics, strict=True):
        digest.update("\0".join([*document, topic.text]).encode("utf-8", "surrogatepass"))
    print(f"{len(collection.documents)} functions, SHA-256 {digest.hexdigest()}")


if __name__ == "__main__":
    main()
