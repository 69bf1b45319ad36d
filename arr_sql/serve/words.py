"""Which language a reader wants, and the inspector's words in it (:data:`arr_sql.serve.word_list.WORDS`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from arr_sql.core.reason_text_zh import REASON_TEXT_ZH
from arr_sql.core.router_models import REASON_TEXT, ReasonCode
from arr_sql.serve.word_list import WORDS

Language = Literal["en", "zh"]
LANGUAGES: tuple[Language, ...] = ("en", "zh")
HTML_LANGUAGE = {"en": "en", "zh": "zh-CN"}

Say = Callable[..., str]


def choose_language(asked: str | None, accepted: str) -> Language:
    """The language that was chosen, else the first of ``accepted`` (an Accept-Language header) that there is."""
    if asked in LANGUAGES:
        return "zh" if asked == "zh" else "en"
    ranked: list[tuple[float, int, Language]] = []
    for place, part in enumerate(accepted.split(",")[:20]):
        name, _, rest = part.strip().partition(";")
        code = name.strip().lower().split("-")[0]
        if code in LANGUAGES:
            ranked.append((-_quality(rest), place, "zh" if code == "zh" else "en"))
    return min(ranked)[2] if ranked and min(ranked)[0] < 0 else "en"


def _quality(text: str) -> float:
    name, _, value = text.strip().partition("=")
    try:
        return float(value) if name.strip() == "q" else 1.0
    except ValueError:
        return 0.0


def words(language: Language) -> Say:
    """A function that says the word of a name in ``language``, with its ``{places}`` filled."""
    index = LANGUAGES.index(language)

    def say(name: str, **values: object) -> str:
        text = WORDS[name][index]
        return text.format(**values) if "{" in text else text

    return say


def reason_text(code: str, language: Language) -> str:
    """What a reason code means; the code itself when a newer program wrote it."""
    try:
        known = ReasonCode(code)
    except ValueError:
        return code
    return REASON_TEXT_ZH.get(known, REASON_TEXT[known]) if language == "zh" else REASON_TEXT[known]


def left_out_text(code: str, language: Language) -> str:
    """Why a file was left out; the code itself when a newer program wrote it."""
    name = f"left_out.{code}"
    return words(language)(name) if name in WORDS else code
