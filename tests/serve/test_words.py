"""The inspector's words: every one is used, every template finds its own, every code is explained in both languages."""

from __future__ import annotations

import re
import string
import sys
from typing import get_args

import pytest

from arr_sql.core.approval_models import PackageStatus, ReceiptStatus, RiskLevel
from arr_sql.core.reason_text_zh import REASON_TEXT_ZH
from arr_sql.core.research_models import Freshness, MemoryKind, MemoryStatus
from arr_sql.core.router_models import REASON_TEXT, ChannelState, ReasonCode, RunState
from arr_sql.serve.render import TEMPLATES, inline, url, visible
from arr_sql.serve.word_list import WORDS
from arr_sql.serve.words import choose_language, left_out_text, reason_text, words
from tests.docs.blocks import ROOT

sys.path.insert(0, str(ROOT / "docs"))

import _generate

SOURCE = "\n".join(
    path.read_text("utf-8")
    for path in [*TEMPLATES.glob("*.html"), *(ROOT / "arr_sql" / "serve").rglob("*.py")]
    if path.name != "word_list.py"
)
VOCABULARIES = {
    "channel_state": get_args(ChannelState), "state": get_args(RunState), "fresh": get_args(Freshness),
    "status": (*get_args(MemoryStatus), *get_args(PackageStatus), *get_args(ReceiptStatus)), "kind": get_args(MemoryKind),
    "risk": get_args(RiskLevel), "left_out": (*_generate.LEFT_OUT, *_generate.reader_refusals()),
}  # fmt: skip


def test_every_code_has_its_words() -> None:
    """The closed vocabularies are covered, and no code is explained that does not exist."""
    for prefix, codes in VOCABULARIES.items():
        named = {name.partition(".")[2] for name in WORDS if name.startswith(f"{prefix}.")}
        extra = {"then", "stands_at", "changed_lines", "indexed_lines"} if prefix == "fresh" else set()
        extra |= {"about", "none"} if prefix == "left_out" else set()
        assert named == set(codes) | extra, prefix


def test_every_reason_is_explained_in_chinese() -> None:
    """And names the same commands as the English sentence."""
    assert set(REASON_TEXT_ZH) == set(ReasonCode)
    for code, text in REASON_TEXT_ZH.items():
        commands = [[part.split()[:3] for part in re.findall(r"`(.+?)`", said)] for said in (text, REASON_TEXT[code])]
        assert [part[:2] for part in commands[0]] == [part[:2] for part in commands[1]], code
        assert re.search("[\u4e00-\u9fff]", text) and text.endswith("。")


def test_every_word_is_used_and_every_used_word_exists() -> None:
    """No template asks for a word that is not there; none is left over."""
    used = set(re.findall(r"""\bt\(["']([\w.]+)["']\)?""", SOURCE)) | set(re.findall(r"""say\("([\w.]+)\"""", SOURCE))
    assert {name for name in used if not name.endswith(".")} <= set(WORDS)
    for name in WORDS:
        prefix = name.rpartition(".")[0]
        is_made = prefix and (f'"{prefix}." ~' in SOURCE or f'f"{prefix}.' in SOURCE)
        assert f'"{name}"' in SOURCE or is_made, name


def test_both_languages_have_the_same_places() -> None:
    """What is filled into a sentence is filled into both."""
    for name, (english, chinese) in WORDS.items():
        places = [{field for _, field, _, _ in string.Formatter().parse(text) if field} for text in (english, chinese)]
        assert places[0] == places[1], name
        assert re.findall("`[^`]+`", english) == [] or "`" in chinese


@pytest.mark.parametrize(
    ("asked", "accepted", "expected"),
    [(None, "zh-CN,zh;q=0.9,en;q=0.8", "zh"), (None, "fr, en;q=0.3, zh;q=0.5", "zh"), (None, "en-GB", "en"), (None, "", "en"),
     (None, "zh;q=0, en;q=0.1", "en"), (None, "zh;q=x", "en"), ("en", "zh", "en"), ("zh", "en", "zh"), ("fr", "zh", "zh"),
     (None, "*", "en"), (None, "," * 9999, "en")],
)  # fmt: skip
def test_choosing_a_language(asked: str | None, accepted: str, expected: str) -> None:
    """The choice wins over the browser's wish; a broken header is no error."""
    assert choose_language(asked, accepted) == expected


def test_unknown_codes_speak_for_themselves() -> None:
    """A file written by a newer program is shown all the same."""
    assert reason_text("from_the_future", "zh") == "from_the_future" == left_out_text("from_the_future", "en")
    assert reason_text("timed_out", "en") == REASON_TEXT[ReasonCode.TIMED_OUT]
    assert words("zh")("audit.head") == "链头："


def test_small_functions() -> None:
    """Addresses are encoded, mark-up is escaped before code style is added, hidden characters get a name."""
    assert url("/memory", id="a/b?c&d=é", q="") == "/memory?id=a%2Fb%3Fc%26d%3D%C3%A9"
    assert inline("run `arr <x>` & go") == "run <code>arr &lt;x&gt;</code> &amp; go"
    assert visible("a\u202eb") == "aU+202Eb"
