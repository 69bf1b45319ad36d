"""Field reports about files, end to end: what people keep is put on disk, added, searched and looked for by line.

Each report is told in our own words. The parts have tests of their own beside the readers, the decoder and the walk.
"""

from __future__ import annotations

import base64
import json
import os
import socket
import sqlite3
import sys
from pathlib import Path

import pytest

from arr_sql.core.research_models import EvidenceChunk
from arr_sql.database import ResearchDatabase
from arr_sql.memory.store_check import check_store
from tests.cli.support import arr, process
from tests.conftest import FakeEmbedder, MakeDatabase
from tests.ingest.pdf_maker import make_pdf

BM25 = {"tool_rounds": [["bm25"]]}
FENCE = "`" * 3
needs_links = pytest.mark.skipif(sys.platform == "win32", reason="links and special files need a POSIX system")


class Project:
    """A folder ``r`` of files, a store, and the two ways to look."""

    def __init__(self, make: MakeDatabase, folder: Path) -> None:
        self._make, self.folder, self.root = make, folder, folder / "r"
        self.root.mkdir()
        self.embedder = FakeEmbedder()
        self._database: ResearchDatabase | None = None

    @property
    def database(self) -> ResearchDatabase:
        if self._database is None:
            self._database = self._make(folder=self.folder, embedder=lambda: self.embedder)
        return self._database

    def put(self, name: str, data: bytes | str) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        return path

    def found(self, query: str, k: int = 10) -> list[EvidenceChunk]:
        """What the index answers."""
        return list(self.database.search(query, plan=BM25, k=k, write_record=False).evidence)

    def files(self, query: str) -> list[str]:
        """Names of the files that the index answers with."""
        return list(dict.fromkeys(item.source_ref.removeprefix("r/") for item in self.found(query)))

    def lines(self, pattern: str, *, regex: bool = False) -> list[tuple[str, int, str]]:
        """What `arr grep` shows: file, line number, text."""
        found = self.database.grep(pattern, regex=regex).search
        return sorted((hit.rel, hit.line_no, hit.text) for hit in found.hits)


@pytest.fixture
def project(make_database: MakeDatabase, tmp_path: Path) -> Project:
    return Project(make_database, tmp_path)


# --- stale index ------------------------------------------------------------------------------------------------------


def test_stale_01_a_deleted_and_a_renamed_file(project: Project) -> None:
    """stale-01: what is gone is not found, what moved is found under its new name, no vector is left alone."""
    project.put("a.md", "alpha-unique\n")
    project.put("b.md", "beta-unique\n")
    project.database.add(project.root)
    project.database.embed()
    (project.root / "a.md").unlink()
    (project.root / "b.md").rename(project.root / "c.md")
    summary = project.database.sync()
    project.database.embed()
    assert (summary.removed, summary.renamed) == (["r/a.md"], [("r/b.md", "r/c.md")])
    assert project.lines("alpha-unique") == []
    assert (project.files("alpha"), project.files("alpha-unique"), project.files("beta-unique")) == (
        [],
        ["c.md"],
        ["c.md"],
    )
    with sqlite3.connect(project.database.path) as plain:
        live = plain.execute("SELECT count(*) FROM chunk WHERE retired_revision IS NULL").fetchone()
        vectors = plain.execute("SELECT count(*) FROM chunk_embedding WHERE retired_revision IS NULL").fetchone()
        kinds = {row[0] for row in plain.execute("SELECT kind FROM audit_event")}
    plain.close()
    assert live == vectors == (1,)
    assert {"source_removed", "source_renamed"} <= kinds
    assert all(finding.passed for finding in check_store(project.database.path).findings)


def test_stale_02_a_shrunk_file(project: Project) -> None:
    """stale-02: of five chunks one remains; a reader that began before sees the old version whole."""
    long = (
        "\n\n".join(f"# Part {n}\n\n" + f"word{n} and more of it. " * 60 for n in range(4)) + "\n\n# End\n\ntailword\n"
    )
    project.put("long.md", long)
    project.database.add(project.root)
    project.database.embed()
    assert len(project.found("word0 word1 word2 word3 tailword", 50)) >= 5
    with sqlite3.connect(project.database.path, isolation_level=None) as reader:
        reader.execute("BEGIN")
        before = reader.execute("SELECT id, retired_revision FROM chunk ORDER BY id").fetchall()
        project.put("long.md", "Only one paragraph.\n")
        project.database.sync()
        assert reader.execute("SELECT id, retired_revision FROM chunk ORDER BY id").fetchall() == before
        reader.execute("COMMIT")
        assert reader.execute("SELECT count(*) FROM chunk WHERE retired_revision IS NULL").fetchone() == (1,)
        assert reader.execute(
            "SELECT count(*) FROM chunk_embedding e JOIN chunk c ON c.id = e.chunk "
            "WHERE e.retired_revision IS NULL AND c.retired_revision IS NOT NULL"
        ).fetchone() == (0,)
    reader.close()
    assert project.found("tailword") == []
    assert project.files("paragraph") == ["long.md"]


# --- grep: files ------------------------------------------------------------------------------------------------------


@needs_links
def test_grepf_01_loops_of_links(project: Project) -> None:
    """grepf-01: links to the parent, to the root and among four folders are counted, not followed."""
    project.put("d/f.md", "needle\n")
    (project.root / "d/e").mkdir()
    (project.root / "d/back").symlink_to("..")
    (project.root / "d/e/top").symlink_to("../..")
    (project.root / "etc").symlink_to("/")
    for one in range(4):
        project.put(f"m/{one}/g.md", f"text of {one}\n")
        for other in range(4):
            (project.root / f"m/{one}/{other}").symlink_to(f"../{other}")
    summary = project.database.add(project.root)
    assert sorted(summary.added) == ["r/d/f.md", *(f"r/m/{n}/g.md" for n in range(4))]
    assert summary.left_out["symlink"] == 19
    assert project.lines("needle") == [("d/f.md", 1, "needle")]
    assert project.database.grep("needle").search.skipped["symlink"] == 19


def test_grepf_02_a_neighbour_with_the_same_beginning(tmp_path: Path) -> None:
    """grepf-02: ``kb-private`` is not in ``kb``, however it is spelled; a relative and a linked root are the same."""
    (tmp_path / "kb").mkdir()
    (tmp_path / "kb-private").mkdir()
    (tmp_path / "kb/ok.md").write_text("shared plan\n", "utf-8")
    (tmp_path / "kb-private/plan.md").write_text("private plan\n", "utf-8")
    roots = ["../kb", "../kb/", str(tmp_path / "kb")]
    if sys.platform != "win32":
        (tmp_path / "linked").symlink_to(tmp_path, target_is_directory=True)
        roots.append(str(tmp_path / "linked/kb"))
    for number, root in enumerate(roots):
        work = tmp_path / f"work{number}"
        work.mkdir()
        assert arr("init", "--team", "t", cwd=work).code == 0
        assert arr("add", root, "--no-embed", cwd=work).code == 0
        inside = arr("grep", "plan", str(tmp_path / "kb/./ok.md"), "--json", cwd=work)
        assert [hit["text"] for hit in inside.json["hits"]] == ["shared plan"], root
        said = set()
        for outside in ("kb-private/plan.md", "kb/../kb-private/plan.md", "kb-private/absent.md"):
            refused = arr("grep", "plan", str(tmp_path / outside), cwd=work)
            assert (refused.code, refused.out) == (1, "")
            assert "is outside the trusted folders" in refused.err and "private plan" not in refused.err
            said.add(refused.err.replace(outside, "X"))
        assert len(said) == 1  # whether a file is there is not told


@needs_links
def test_grepf_03_pipes_sockets_and_devices(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """grepf-03: none is opened; one that is named is an error and no wait."""
    project.put("n.md", "needle\n")
    os.mkfifo(project.root / "pipe.md")
    (project.root / "pipe-link.md").symlink_to("pipe.md")
    (project.root / "zero.txt").symlink_to("/dev/zero")
    monkeypatch.chdir(project.root)  # the name of a socket may not be long
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind("s.md")
        summary = project.database.add(project.root)
        assert (summary.added, dict(summary.left_out)) == (["r/n.md"], {"special_file": 2, "symlink": 2})
        assert project.lines("needle") == [("n.md", 1, "needle")]
        assert arr("init", "--team", "t", cwd=project.root).code == 0
        ran = process("add", "pipe.md", "--no-embed", cwd=project.root)
    assert ran.returncode != 0 or b"special_file" in ran.stdout, ran


def test_grepf_04_one_long_line(project: Project) -> None:
    """grepf-04: a hit in a long line is shown with what stands around it, and how long the line is."""
    project.put("app.min.js", "a" * 700_000 + " telemetry " + "b" * 1000)
    project.put("big.json", "[" + ", ".join('{"telemetry": "' + "é" * 1200 + '"}' for _ in range(2000)) + "]")
    project.put("notes.md", "telemetry here\n")
    project.database.add(project.root)
    hits = project.database.grep("telemetry").search.hits
    by_file = {hit.rel: hit for hit in hits}
    assert by_file["notes.md"].text == "telemetry here"
    for name, length in (("app.min.js", 701_011), ("big.json", 2000 * 1217 + 1999 * 2 + 2)):
        hit = by_file[name]
        assert (hit.clipped, hit.true_length) == (True, length)
        assert "telemetry" in hit.text and len(hit.text) <= 400
    assert len(json.dumps([hit.text for hit in hits])) < 20_000
    assert project.files("telemetry")[:1] == ["notes.md"]


# --- grep: encodings and expressions ---------------------------------------------------------------------------------


def test_grepe_01_utf16_is_text(project: Project) -> None:
    """grepe-01: with a mark, without one, in both orders; a picture is named as binary."""
    text = "hello 世界\r\nneedle two\r\n"
    project.put("le.txt", b"\xff\xfe" + text.encode("utf-16-le"))
    project.put("be.txt", b"\xfe\xff" + text.encode("utf-16-be"))
    project.put("none.txt", text.encode("utf-16-le"))
    project.put("sig.txt", text.encode("utf-8-sig"))
    project.put("pic.txt", b"\x89PNG\r\n\x1a\n" + bytes(60) + b"needle")
    summary = project.database.add(project.root)
    names = ["be.txt", "le.txt", "none.txt", "sig.txt"]
    assert project.lines("needle") == [(name, 2, "needle two") for name in names]
    assert project.lines("世界") == [(name, 1, "hello 世界") for name in names]
    assert sorted(project.files("世界")) == names
    assert dict(summary.left_out) == {"binary": 1}
    assert project.database.grep("needle").search.skipped == {"binary": 1}


def test_grepe_02_gbk(project: Project) -> None:
    """grepe-02: Chinese in GBK is found by index and by line, with its encoding noted."""
    data = "数据库检索测试\r\n第二行needle".encode("gbk")
    assert data.startswith(b"\xca\xfd\xbe\xdd\xbf\xe2\xbc\xec\xcb\xf7")
    project.put("t.txt", data)
    project.put("u.txt", "另一个文件\n")
    project.put("odd.txt", b"\x81\xff\xfe\x80 \xc3\x28 \x90\x91" * 9)
    project.database.add(project.root)
    assert project.files("检索")[:1] == ["t.txt"]
    assert project.lines("needle") == [("t.txt", 2, "第二行needle")]
    assert project.lines("测试") == [("t.txt", 1, "数据库检索测试")]
    encodings = {item["source_ref"]: item["encoding"] for item in project.database.source_list()["sources"]}
    assert encodings["r/t.txt"] == "gb18030" and encodings["r/u.txt"] == "utf-8"


def test_grepe_03_line_ends(project: Project) -> None:
    """grepe-03: ``$`` matches before CRLF, no returned text ends in CR, a lone CR is inside its line."""
    pytest.importorskip("re2")
    project.put("c.txt", b"red\r\ngreen\r\nblue")
    project.put("m.txt", b"a\nb\r\nc")
    project.put("r.txt", b"alpha beta\rgamma delta\n")
    project.database.add(project.root)
    assert project.lines("red$", regex=True) == [("c.txt", 1, "red")]
    assert project.lines("^blue$", regex=True) == [("c.txt", 3, "blue")]
    assert project.lines("b$", regex=True) == [("m.txt", 2, "b")]
    assert project.lines("beta") == [("r.txt", 1, "alpha beta\rgamma delta")]
    assert arr("init", "--team", "t", cwd=project.folder).code == 0
    assert arr("add", "r", "--no-embed", cwd=project.folder).code == 0
    shown = arr("grep", "beta", cwd=project.folder).out
    assert shown.startswith("r/r.txt:1:alpha beta") and "\r" not in shown and "gamma delta" in shown


def test_grepr_01_hostile_expressions(project: Project) -> None:
    """grepr-01: an expression that backtracks elsewhere ends at once; a wrong one is a usage error with its place."""
    pytest.importorskip("re2")
    project.put("l.txt", "a" * 40 + "!\n")
    project.put("n.md", "needle\n(\n")
    assert arr("init", "--team", "t", cwd=project.folder).code == 0
    assert arr("add", "r", "--no-embed", cwd=project.folder).code == 0
    assert arr("grep", "--regex", "(a+)+$", cwd=project.folder).out == ""
    for wrong in ("(", "[z-a]", "*x", "(?P<n>a)(?P<n>b)", "(" * 100_000):
        ran = arr("grep", "--regex", wrong, cwd=project.folder)
        assert ran.code == 2, wrong[:20]
        assert len(ran.err) < 2000
    assert arr("grep", "(", cwd=project.folder).out == "r/n.md:2:(\n"


# --- secrets ----------------------------------------------------------------------------------------------------------


def test_sec_01_nothing_of_protected_files_gets_out(project: Project) -> None:
    """sec-01: values of key files and credential lines are in no answer, no index, no vector request, no byte of the store."""
    plum, letters, base = "hunter2" + "-plum", "Q" * 36, "MIIEvQ" + "IBADANBgkq"
    begin = "-----BEGIN OPENSSH " + "PRIVATE KEY-----"
    values = (plum, letters, base, "u:pw9x" + "@host")
    project.put(".env", f"DB_PASSWORD={plum}\n")
    project.put(".env.local", f"DB_PASSWORD={plum}\n")
    project.put("id_rsa", f"{begin}\n{base}\n{begin.replace('BEGIN', 'END')}\n")
    project.put(".npmrc", "//r/:_auth" + f"Token=npm_{letters}\n")
    project.put(".git/config", f"[remote]\nurl = https://{values[3]}/x\n")
    project.put("server.pem", f"{begin}\n{base}\n")
    project.put(".env.example", "DB_PASSWORD=changeme\n")
    project.put("notes.md", f"Set DB_PASSWORD first.\n\nexport DB_PASSWORD={plum}\n")
    summary = project.database.add(project.root)
    project.database.embed()
    assert summary.lines_withheld == 1
    assert summary.left_out["sensitive_name"] >= 5
    assert {name for name, _, _ in project.lines("DB_PASSWORD")} == {".env.example", "notes.md"}
    assert project.lines("PRIVATE") == []
    assert sorted(project.files("DB_PASSWORD")) == [".env.example", "notes.md"]
    for value in values:
        assert all(value not in item.content for item in project.found(value))
    project.database.search(f"npm_{letters} DB_PASSWORD={plum}", plan=BM25)  # and its record
    seen = [text for call in project.embedder.calls for text in call]
    project.database.close()
    stored = b"".join(path.read_bytes() for path in project.database.path.parent.glob("arr.db*"))
    for value in values[:3]:
        assert not any(value in text for text in seen)
        assert value.encode() not in stored, value
    assert b".npmrc" in stored  # listed by name


def test_sec_02_no_false_alarms(project: Project) -> None:
    """sec-02: hashes, ids, code and prose stay; four real shapes beside them are withheld."""
    harmless = [
        '"integrity": "sha512-' + "Ab9/" * 21 + 'Qw=="', "image: sha256:" + "0f" * 32, "commit " + "9b1c" * 10,
        "run 123e4567-e89b-42d3-a456-426614174000", "integrity = sum(len(p.warnings) for p in projects)",
        "password = getpass.getpass()", "token_count = 12345", "api_key=self._api_key", "doi 10.1000/xyz123",
        "see arXiv:2101.00001", "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunternehmen", "数据令牌",
        "from tokenizer import Tokenizer", "def reset_password_form(request): ...", "The secret: sleep more, he said.",
    ]  # fmt: skip
    caught = [
        "AK" + "IA" + "ABCD1234EFGH5678", "gh" + "p_" + "aB3" * 12, "-----BEGIN RSA " + "PRIVATE KEY-----",
        "password: " + '"Tr0ub4dor&3"',
    ]  # fmt: skip
    project.put("code.txt", "\n".join(harmless) + "\n")
    project.put("bad.txt", "\n".join(f"marker{n} {line}" for n, line in enumerate(caught)) + "\n")
    project.put("tokenizer.py", "token = tokenizer.next_token()\nsecret_word = 'xyzzy'\n")
    summary = project.database.add(project.root)
    assert summary.lines_withheld == len(caught)
    assert len(summary.added) == 3
    for word in ("sha512", "sha256", "9b1c9b1c", "123e4567", "warnings", "getpass", "token_count", "_api_key", "xyz123",
                 "2101.00001", "donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunternehmen", "令牌"):  # fmt: skip
        assert "code.txt" in project.files(word), word
    assert project.lines("withheld") == []  # the stand-in is no line of a file
    assert not any(project.files(f"marker{n}") for n in range(len(caught)))


# --- Markdown ---------------------------------------------------------------------------------------------------------


def test_md_01_comments_in_code_are_no_headings(project: Project) -> None:
    """md-01: two headings; what stands in fences is found under its heading, at its lines; an open fence runs to the end."""
    text = (
        f"# Setup\n\n{FENCE}bash\n# fetch tools\nmake tools\n{FENCE}\n\ntext after\n\n~~~~\n## not a heading\n~~~\n"
        "still code\n~~~~\n\n    # indented code\n\nReal Two\n========\nbody two\n"
    )
    project.put("a.md", text)
    project.put("open.md", f"# Alpha\n\n{FENCE}\n# Beta\n\n# Gamma zulu\n")
    project.database.add(project.root)
    with sqlite3.connect(project.database.path) as plain:
        headings = {row[0] for row in plain.execute("SELECT DISTINCT heading FROM chunk")}
    plain.close()
    assert headings == {"Setup", "Real Two", "Alpha"}
    for query, heading in (("fetch tools", "Setup"), ("still code", "Setup"), ("body two", "Real Two")):
        top = project.found(query)[0]
        assert top.metadata["heading"] == heading
        first, last = int(top.metadata["start_line"]), int(top.metadata["end_line"])
        assert query in "\n".join(text.split("\n")[first - 1 : last])
    assert project.found("zulu")[0].metadata["heading"] == "Alpha"


def test_md_02_front_matter_that_is_no_yaml(project: Project) -> None:
    """md-02: five ways to spell it wrong lose no file and no key that is right."""
    project.put("a.md", "---\ntitle: Retrieval: a survey\ntags: [x, y]\n---\nBody alpha\n")
    project.put("b.md", "---\ntitle: 'open\n---\nBody beta\n")
    project.put("c.md", "---\ntitle: @home\n---\nBody gamma\n")
    project.put("d.md", "Prose delta\n\n---\n\nmore prose\n")
    project.put("e.md", "---\ntitle: never closed\nBody epsilon\n")
    summary = project.database.add(project.root)
    assert len(summary.added) == 5
    for word, name in (("alpha", "a.md"), ("beta", "b.md"), ("gamma", "c.md"), ("delta", "d.md"), ("epsilon", "e.md")):
        assert project.files(f"body {word}")[0] == name
    assert project.files("a survey")[0] == "a.md"
    sources = {item["source_ref"]: item for item in project.database.source_list()["sources"]}
    assert (sources["r/a.md"]["title"], sources["r/c.md"]["title"]) == ("Retrieval: a survey", "@home")
    assert list(summary.warnings) == ["r/b.md"]


def test_md_03_rows_keep_their_header(project: Project) -> None:
    """md-03: a row is found by its own words together with its column's; none is cut; items keep their parent."""
    rows = [f"| m{n:03} | {n / 7:.1f} | {n} ms |" for n in range(1, 201)]
    rows[99] = "| a \\| b | 1.0 | 2 ms |"
    table = "\n".join(["| Model | BLEU | Latency |", "| --- | --- | --- |", *rows])
    items = "\n".join(f"{'  ' * (n % 3)}- item{n} " + "some words about it " * 4 for n in range(60))
    project.put("t.md", f"# Results\n\n{table}\n\n# Plan\n\n{items}\n")
    project.database.add(project.root)
    top = project.found("m150 latency")[0]
    assert "| m150 |" in top.content
    assert "Latency" in str(top.metadata["heading"]) or "Latency" in top.content
    text = (project.root / "t.md").read_text("utf-8").split("\n")
    first, last = int(top.metadata["start_line"]), int(top.metadata["end_line"])
    assert top.content == "\n".join(text[first - 1 : last])  # nothing invented
    for item in project.found("m001 m100 m199 item31 words", 50):
        assert all(
            line in [whole.rstrip() for whole in text]
            for line in item.content.rstrip().split("\n")
            if line == line.rstrip()
        )
    assert "item30" in str(project.found("item31")[0].metadata["heading"]) + project.found("item31")[0].content


# --- notebooks, BibTeX, PDF -------------------------------------------------------------------------------------------


def test_nb_01_outputs_of_a_notebook(project: Project) -> None:
    """nb-01: sources are found by cell; pictures, widgets and terminal colours are not in the index; outputs are bounded."""
    picture = base64.b64encode(bytes(range(256)) * 900).decode()[:300_000]
    outputs = [
        {"output_type": "display_data", "metadata": {}, "data": {"image/png": picture, "text/plain": "<Figure size 640x480>"}},
        {"output_type": "stream", "name": "stdout", "text": "epoch loss\n" * 180_000},
        {"output_type": "error", "ename": "ValueError", "evalue": "bad", "traceback": ["\x1b[0;31mValueError\x1b[0m: bad zebra"]},
    ]  # fmt: skip
    cells = [
        {"cell_type": "markdown", "metadata": {}, "source": "# Result"},
        {"cell_type": "code", "metadata": {}, "execution_count": 1, "source": "alpha_fn(1)", "outputs": outputs},
    ]
    widgets = {"widgets": {"application/vnd.jupyter.widget-state+json": {"state": {"q": "widgetword " * 2000}}}}
    project.put("n.ipynb", json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": widgets, "cells": cells}))
    project.database.add(project.root)
    project.database.embed()
    assert "cell 2" in project.found("alpha_fn")[0].locator
    assert project.found("Result")[0].metadata["heading"] == "Result"
    assert project.found(picture[1000:1012]) == project.found("widgetword") == []
    assert "\x1b" not in project.found("zebra")[0].content
    seen = "".join(text for call in project.embedder.calls for text in call)
    assert picture[1000:1012] not in seen and len(seen) < 1_000_000
    project.database.close()
    assert sum(path.stat().st_size for path in project.database.path.parent.glob("arr.db*")) < 4_000_000


def test_bib_01_accents_and_braces(project: Project) -> None:
    """bib-01: names and titles are found however they are typed; the entry itself is kept as written."""
    entry = (
        '@article{k1, author={M{\\"u}ller, J{\\"o}rg and {\\\'E}tienne {\\O}rsted and \\v{S}imek, A.}, '
        'title={Notes on {RNA} Folding and {$\\beta$}-Sheet {{FFT}} methods}, journal = "A " # "B", month=jan, year=2020}'
    )
    project.put(
        "refs.bib", f'@string{{jan = "January"}}\n% a note\nfree text\n{entry}\n@misc(k5, title={{paren style}})\n'
    )
    project.database.add(project.root)
    for query in ("Müller", "Muller", "Étienne", "Ørsted", "Šimek", "RNA folding", "FFT", "beta sheet", "January"):
        top = project.found(query)[0]
        assert top.locator.endswith("k1"), query
        assert entry in top.content
    assert "Notes on RNA Folding and" in str(project.found("FFT")[0].metadata["heading"])
    assert project.found("paren style")[0].locator.endswith("k5")
    where = project.found("Muller")[0].metadata
    assert int(where["start_line"]) <= 4 == int(where["end_line"])


@pytest.mark.usefixtures("_needs_pdfium")
def test_pdf_01_pages_without_text(project: Project) -> None:
    """pdf-01: pages keep their numbers, those without text are named, a scan is no source."""
    project.put(
        "mixed.pdf", make_pdf([[("intro keyword1", 72, 700, 12)], [], [], [], [("outro keyword2", 72, 700, 12)]])
    )
    project.put("scan.pdf", make_pdf([[], []]))
    summary = project.database.add(project.root)
    assert [project.found(word)[0].locator for word in ("keyword1", "keyword2")] == ["p.1", "p.5"]
    assert any("2" in said and "4" in said for said in summary.warnings["r/mixed.pdf"]), summary.warnings
    assert (summary.added, dict(summary.left_out), summary.chunks_added) == (["r/mixed.pdf"], {"no_text_layer": 1}, 2)


@pytest.mark.usefixtures("_needs_pdfium")
def test_pdf_02_a_batch_with_bad_files(project: Project) -> None:
    """pdf-02: the good one is found, each bad one has its reason, a second run has nothing to do."""
    good = make_pdf([[("a walrus on page one", 72, 700, 12)]])
    project.put("good.pdf", good)
    project.put("enc.pdf", make_pdf([[("locked", 72, 700, 12)]], password="open"))
    project.put("cut.pdf", good[:500])
    project.put("zero.pdf", b"")
    project.put("html.pdf", "<!doctype html><html><body>404</body></html>")
    if sys.platform != "win32":
        project.put("good.pdf:Zone.Identifier", "[ZoneTransfer]\r\nZoneId=3\r\n")
    project.put("empty.txt", b"")
    project.put("empty.md", b"")
    first = project.database.add(project.root)
    assert project.files("walrus") == ["good.pdf"]
    reasons = {item["source_ref"]: item["reason"] for item in project.database.source_list()["left_out"]}
    assert {name.removeprefix("r/"): reason for name, reason in reasons.items() if name.endswith(".pdf")} == {
        "enc.pdf": "encrypted", "cut.pdf": "malformed", "zero.pdf": "empty", "html.pdf": "not_a_pdf",
    }  # fmt: skip
    assert {"r/empty.md", "r/empty.txt", "r/good.pdf"} == set(first.added)
    second = project.database.sync()
    assert not second.has_changes and second.left_out == first.left_out and second.bytes_read <= first.bytes_read


@pytest.fixture
def _needs_pdfium() -> None:
    pytest.importorskip("pypdfium2")


def test_every_report_has_a_test(request: pytest.FixtureRequest) -> None:
    """The eighteen reports about files, each by its name."""
    names = {
        name[5:].split("_0")[0] + "-0" + name[5:].split("_0")[1][0]
        for name in globals()
        if name.startswith("test_") and "_0" in name
    }
    assert names == {
        "stale-01", "stale-02", "grepf-01", "grepf-02", "grepf-03", "grepf-04", "grepe-01", "grepe-02", "grepe-03",
        "grepr-01", "sec-01", "sec-02", "md-01", "md-02", "md-03", "nb-01", "bib-01", "pdf-01", "pdf-02",
    }  # fmt: skip
