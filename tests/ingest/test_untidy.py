"""A folder as people keep it: each file is found by words that stand in it, or named with the reason why not."""

from __future__ import annotations

import base64
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from arr_sql.database import ResearchDatabase
from arr_sql.ingest.readers.pdf_reader import has_pdfium
from tests.conftest import MakeDatabase
from tests.ingest.pdf_maker import make_pdf

PIXEL = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(300)).decode()
NOTEBOOK = {
    "nbformat": 4, "nbformat_minor": 5, "metadata": {},
    "cells": [
        {"cell_type": "markdown", "metadata": {}, "source": ["# Ablation of the power cap\n", "Two runs."]},
        {"cell_type": "code", "metadata": {}, "execution_count": 1, "source": "plot(capped_losses)",
         "outputs": [{"output_type": "display_data", "metadata": {}, "data": {"image/png": PIXEL, "text/plain": "figure seventeen"}},
                     {"output_type": "stream", "name": "stdout", "text": "final loss 0.731\n"}]},
    ],
}  # fmt: skip
BROKEN_BIB = """@string{lm = {Journal of Lunar Metrics}}

@article{good2021, title = {Crater Depths from Shadows}, journal = lm, year = {2021}, author = {M{\\"u}ller, Ana}}

@article{lost2020, title = {An Entry That Never Ends, year = {2020}

@book{fine2019, title = {A Handbook of Regolith}, year = {2019}, author = {Osei, Kofi}}
"""
TEXTS: dict[str, tuple[bytes, str]] = {
    # name: (bytes, words that a person sees in it)
    "gbk/会议纪要.txt": ("会议纪要\r\n数据库检索测试的结果见附件。\r\n下周讨论学习率。\r\n".encode("gbk"), "检索测试"),
    "gbk/refs.bib": ("@article{li2019, title = {大规模检索的评测}, journal = {计算机学报}, author = {李明}, year = {2019}}\n".encode("gb18030"), "计算机学报"),
    "gbk/short.bib": ("@article{k2013,\n  author = {凯撒},\n  title = {Test},\n  year = {2013},\n  journal = {测试期刊}\n}\n".encode("gbk"), "测试期刊"),
    "windows/export.csv": ("序号,名称,结果\r\n1,第一次实验,通过\r\n2,第二次实验,失败\r\n".encode("gbk"), "第二次实验"),
    "windows/notes-utf16.txt": ("实验记录\r\nrun 12 diverged after the restart\r\n".encode("utf-16"), "diverged after"),
    "windows/notes-utf16be.md": (b"\xfe\xff" + "# 学习率计划\n预热两千步\n".encode("utf-16-be"), "预热两千步"),
    "windows/no-mark.txt": ("power cap of both nodes\r\n第二节 数据清洗\r\n".encode("utf-16-le"), "数据清洗"),
    "taiwan/會議.txt": ("會議記錄\n資料庫檢索系統的評估結果請見附件，下週討論學習率。\n".encode("big5"), "檢索系統"),
    "japan/memo.txt": ("実験の記録です。学習率を下げると結果が良くなりました。\n".encode("cp932"), "学習率を下げる"),
    "france/résumé.txt": ("L'été dernier, nous avons mesuré la dérive du modèle à chaque étape de la procédure.\n".encode("cp1252"), "la dérive du modèle"),
    "papers/broken.bib": (BROKEN_BIB.encode(), "Handbook of Regolith"),
    "papers/thesis.tex": (b"\\documentclass{article}\n\\begin{document}\n\\section{Method}\nWe anneal twice.\n\\input{parts/results}\n\\end{document}\n", "anneal twice"),
    "papers/parts/results.tex": ("\\section{结果}\n表中给出消融实验。\n".encode(), "消融实验"),
    "papers/talk.html": (b"<html><body><nav>menu</nav><h1>Talk</h1><p>The regulator drifts by noon.</p></body></html>", "regulator drifts"),
    "runs/power.ipynb": (json.dumps(NOTEBOOK).encode(), "final loss 0.731"),
    "runs/train.log": (b"step 1 ok\nTraceback (most recent call last):\n  File \"t.py\", line 3, in <module>\nValueError: exploding_norm_7\n", "exploding_norm_7"),
    "runs/half.json": (b'{"run": "r17", "metric": {"loss": 0.25, "note": "half_written_marker', "half_written_marker"),
    "runs/bom.json": (b'\xef\xbb\xbf{"owner": "bom_marker_here"}\n', "bom_marker_here"),
    "runs/metrics.jsonl": (b'{"step": 1, "tag": "good_row_marker"}\n{"step": 2, "tag": \n{"step": 3, "tag": "row_after_broken"}\n', "row_after_broken"),
    "runs/old-mac.txt": (b"first line\rsecond line classic_mac_marker\rthird\r", "classic_mac_marker"),
    "web/app.min.js": (b"var a=1;" * 4000 + b"function minifiedMarker(){}" + b"b=2;" * 4000, "minifiedMarker"),
    "web/settings.py": (b"DEBUG = True\nAWS_SECRET_ACCESS_KEY = 'wJalrXUtnFEMIK7MDENGbPxRfiCYzzzKEY1x'\nREGION = 'lunar-south'\n", "lunar-south"),
    "web/.env.example": (b"API_KEY=your-key-here\nTEMPLATE_MARKER=1\n", ""),
    "中文 名字.md": ("# 带空格的文件名\n内容正常。\n".encode(), "内容正常"),
}  # fmt: skip
LEFT_OUT = {
    "web/.env": (b"API_TOKEN=zzz\n", "sensitive_name"),
    "web/id_rsa": (b"-----BEGIN OPENSSH PRIVATE KEY-----\nabc\n", "sensitive_name"),
    "web/logo.txt": (b"\x89PNG\r\n\x1a\n" + bytes(40), "binary"),
    "web/thing.xyz": (b"what is this\n", "unknown_format"),
    "runs/model.md": (bytes(range(256)) * 8, "binary"),
    "runs/saved.ipynb": (b"", "empty"),
    "runs/torn.ipynb": (json.dumps(NOTEBOOK).encode()[:200], "malformed"),
    "papers/download.pdf": (b"<!doctype html><title>403 Forbidden</title>", "not_a_pdf"),
}


@pytest.fixture
def untidy(tmp_path: Path) -> Path:
    """The folder on disk."""
    folder = tmp_path / "untidy"
    for name, (data, _) in {**TEXTS, **LEFT_OUT}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    (folder / "papers/locked.pdf").write_bytes(
        make_pdf([[("The basalt samples were sealed", 72, 700, 12)]], password="moon")
    )
    (folder / "papers/open.pdf").write_bytes(make_pdf([[("Ilmenite grains in every tray", 72, 700, 12)]]))
    (folder / "papers/scan.pdf").write_bytes(make_pdf([[]]))
    (folder / "papers/torn.pdf").write_bytes(make_pdf([[("x", 72, 700, 12)]])[:180])
    if sys.platform != "win32":
        (folder / "runs/latest.log").symlink_to("train.log")
        (folder / "runs/up").symlink_to("..")
        os.mkfifo(folder / "runs/pipe.log")
    return folder


@pytest.fixture
def database(make_database: MakeDatabase, tmp_path: Path) -> ResearchDatabase:
    return make_database(folder=tmp_path)


def found_in(database: ResearchDatabase, words: str) -> set[str]:
    """The files whose text a bm25 search for the words gives and which hold them as they stand."""
    evidence = database.search(words, k=50, plan={"tool_rounds": [["bm25"]]}).evidence
    return {item.source_ref for item in evidence if words in item.content or words in str(item.metadata["heading"])}


def named(database: ResearchDatabase) -> dict[str, str]:
    return {item["source_ref"]: item["reason"] for item in database.source_list()["left_out"]}


def test_every_file_is_found_or_named(database: ResearchDatabase, untidy: Path) -> None:
    """Nothing raises and nothing is skipped in silence: each name on disk is a source, is left out by name, or lies
    below a folder that is."""
    database.add(untidy)
    sources = {item["source_ref"]: item for item in database.source_list()["sources"]}
    left = named(database)
    for name, (_, words) in TEXTS.items():
        assert f"untidy/{name}" in sources, (name, left.get(f"untidy/{name}"))
        assert not words or f"untidy/{name}" in found_in(database, words), (name, words)
    for name, (_, reason) in LEFT_OUT.items():
        assert left[f"untidy/{name}"] == reason, name
    on_disk = {
        path.relative_to(untidy.parent).as_posix()
        for path in untidy.rglob("*")
        if not path.is_dir() or path.is_symlink()
    }
    assert on_disk == set(sources) | set(left)


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX files")
def test_links_and_pipes_are_named(database: ResearchDatabase, untidy: Path) -> None:
    """A link to a file and one to the folder above are rows of their own; a pipe is never opened."""
    database.add(untidy)
    left = named(database)
    assert {name: left[f"untidy/runs/{name}"] for name in ("latest.log", "up", "pipe.log")} == {
        "latest.log": "symlink", "up": "symlink", "pipe.log": "special_file",
    }  # fmt: skip


@pytest.mark.skipif(not has_pdfium(), reason="needs the extra `pdf`")
def test_pdfs(database: ResearchDatabase, untidy: Path) -> None:
    """A text is read, a scan and a torn file are named as such, a locked one opens with its password and no other."""
    database.add(untidy)
    assert found_in(database, "Ilmenite grains") == {"untidy/papers/open.pdf"}
    left = named(database)
    assert [left[f"untidy/papers/{name}.pdf"] for name in ("locked", "scan", "torn")] == [
        "encrypted",
        "no_text_layer",
        "malformed",
    ]
    database.sync(passwords=["mars"])
    assert named(database)["untidy/papers/locked.pdf"] == "encrypted"
    database.sync(passwords=["mars", "moon"])
    assert found_in(database, "basalt samples") == {"untidy/papers/locked.pdf"}


def test_broken_bibliographies_give_their_good_entries(database: ResearchDatabase, untidy: Path) -> None:
    """The bad entry is named with its line, the two around it are found, an accent is decoded, a macro is expanded."""
    database.add(untidy)
    name = "untidy/papers/broken.bib"
    for words in ("Crater Depths", "Handbook of Regolith"):
        assert name in found_in(database, words)
    (source,) = (item for item in database.source_list()["sources"] if item["source_ref"] == name)
    assert any("lost2020" in warning for warning in source["warnings"]), source["warnings"]
    assert database.search("Müller", plan={"tool_rounds": [["bm25"]]}).evidence[0].source_ref == name


def test_what_is_no_text_of_a_notebook_stays_out(database: ResearchDatabase, untidy: Path) -> None:
    """The image is counted and not indexed; the text beside it is."""
    summary = database.add(untidy)
    assert any("image/png" in warning for warning in summary.warnings["untidy/runs/power.ipynb"])
    assert found_in(database, "figure seventeen") == {"untidy/runs/power.ipynb"}
    assert not any(PIXEL[:40] in item.content for item in database.search("power cap", k=50).evidence)


def test_secrets_stay_out(database: ResearchDatabase, untidy: Path) -> None:
    """The line with the key is withheld and counted, the lines around it are found, the bytes are not in the store."""
    summary = database.add(untidy)
    assert summary.lines_withheld == 1
    database.close()
    stored = b"".join(path.read_bytes() for path in database.path.parent.glob("arr.db*"))
    assert b"wJalrXUtn" not in stored and b"API_TOKEN" not in stored and b"lunar-south" in stored


def test_encodings_are_stored_with_their_confidence(database: ResearchDatabase, untidy: Path) -> None:
    """What was guessed says so, and how sure it is; nothing below the threshold is taken."""
    database.add(untidy)
    how: dict[str, Any] = {
        item["source_ref"].removeprefix("untidy/"): (item["encoding"], item["encoding_confidence"])
        for item in database.source_list()["sources"]
    }
    assert {name: how[name][0] for name in TEXTS if name.split("/")[0] in ("gbk", "taiwan", "japan", "france", "windows")} == {
        "gbk/会议纪要.txt": "gb18030", "gbk/refs.bib": "gb18030", "gbk/short.bib": "gb18030", "windows/export.csv": "gb18030",
        "windows/notes-utf16.txt": "utf-16-le", "windows/notes-utf16be.md": "utf-16-be", "windows/no-mark.txt": "utf-16-le",
        "taiwan/會議.txt": "big5hkscs", "japan/memo.txt": "cp932", "france/résumé.txt": "cp1252",
    }  # fmt: skip
    assert all(0.55 <= confidence <= 1 for _, confidence in how.values())
    assert how["中文 名字.md"] == ("utf-8", 1.0)


def test_a_second_sync_reads_nothing_new(database: ResearchDatabase, untidy: Path) -> None:
    """Whatever is left out is left out again for the same reason, without a change."""
    first = database.add(untidy)
    second = database.sync()
    assert (second.added, second.changed, second.removed, second.left_out) == ([], [], [], first.left_out)
