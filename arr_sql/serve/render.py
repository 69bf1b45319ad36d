"""From values to HTML: one Jinja2 environment that escapes everything, and the few functions that templates call.

What files and memories say is hostile until shown otherwise: it reaches a page only as escaped text, with hidden and
direction-changing characters named (:func:`arr_sql.core.term_marks.parts`). tests/serve/test_hostile.py
"""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from arr_sql.core.term_marks import code_point, parts
from arr_sql.serve.pages.retrieval_page import RetrievalView
from arr_sql.serve.pages.store_pages import pretty
from arr_sql.serve.words import HTML_LANGUAGE, Language, left_out_text, reason_text, words

TEMPLATES = Path(__file__).resolve().parent / "templates"


@cache
def style() -> str:
    """The one style sheet."""
    return (TEMPLATES / "style.css").read_text("utf-8")


@cache
def _environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(TEMPLATES, encoding="utf-8"), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip


def render(template: str, language: Language, **values: Any) -> str:
    """One template with the words of ``language``."""
    say = words(language)

    def count_of(count: int, ms: float) -> str:
        return say("items.one" if count == 1 else "items", count=count, ms=number(round(ms)))

    return _environment().get_template(template).render(
        t=say, count_of=count_of, language=language, html_language=HTML_LANGUAGE[language], parts=parts, pretty=pretty,
        code_point=code_point, number=number, url=url, inline=inline, visible=visible,
        reason=lambda code: reason_text(code, language), left_out_text=lambda code: left_out_text(code, language),
        **values,
    )  # fmt: skip


def report_page(view: RetrievalView, *, scope: str, version: str, language: Language) -> str:
    """One retrieval as a page that needs nothing else: no script, no address, its style inside under a hash."""
    sheet = style()
    digest = base64.b64encode(hashlib.sha256(sheet.encode("utf-8")).digest()).decode("ascii")
    return render(
        "report.html", language, view=view, scope=scope, version=version, style=Markup(sheet), style_hash=digest
    )


def number(value: int) -> str:
    """With separators: ``12,345``."""
    return f"{value:,}"


def url(path: str, **values: Any) -> str:
    """A path with its query; empty values are left out."""
    kept = {name: str(value) for name, value in values.items() if value not in (None, "")}
    return f"{path}?{urlencode(kept, errors='replace')}" if kept else path


def visible(text: str) -> str:
    """``text`` for places that can hold no mark-up, such as a title: hidden characters by name."""
    return "".join(code_point(piece) if kind == "hidden" else piece for kind, piece in parts(text))


def inline(text: str) -> Markup:
    """A sentence of our own with its `commands` in code style."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))
