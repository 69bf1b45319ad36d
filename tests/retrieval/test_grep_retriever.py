"""The grep channel: lines as they are on disk now, a chunk's id where the line is in an unchanged chunk, only trusted trees.

Which strings are looked for is tested in test_needles.py, and how lines are found in test_line_search*.py.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from arr_sql.core.canonical import sha256_text
from arr_sql.core.research_models import EvidenceChunk
from arr_sql.core.router_models import ReasonCode, RouterResult
from arr_sql.database import ResearchDatabase
from tests.conftest import MakeDatabase, other_scopes
from tests.retrieval.test_freshness import git_folder

TEXT = "# Router\n\nThe router keeps a budget.\n\n# Plane\n\nlr_decay is 0.5 here\n"


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    """A folder with one file of two chunks."""
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "a.md").write_text(TEXT, encoding="utf-8")
    return folder


def grep(database: ResearchDatabase, query: str, k: int = 10) -> RouterResult:
    """A search over this channel alone."""
    return database.search(query, k=k, plan={"tool_rounds": [["grep"]]})


def only(result: RouterResult) -> EvidenceChunk:
    """The one piece of evidence."""
    assert len(result.evidence) == 1
    return result.evidence[0]


# --- What a hit stands for ----------------------------------------------------------------------------------------------


def test_a_line_in_an_unchanged_chunk_is_that_chunk(make_database: MakeDatabase, docs: Path) -> None:
    """Contract 9.4: the same id, text and locator as the bm25 channel gives, with the lines that matched."""
    database = make_database(folder=docs)
    database.add(docs)
    hit = only(grep(database, "lr_decay"))
    chunk = only(database.search("lr_decay", plan={"tool_rounds": [["bm25"]]}))
    assert (hit.chunk_id, hit.content, hit.locator, hit.content_hash) == (
        chunk.chunk_id, chunk.content, chunk.locator, chunk.content_hash,
    )  # fmt: skip
    assert (hit.metadata["matched_lines"], hit.freshness, hit.created_at) == ([7], "fresh", chunk.created_at)


def test_channels_agree_on_a_chunk(make_database: MakeDatabase, docs: Path) -> None:
    """One piece of evidence with a rank of each channel, not two."""
    database = make_database(folder=docs)
    database.add(docs)
    result = database.search("lr_decay", plan={"tool_rounds": [["bm25", "grep"]]})
    assert [rank.channel for rank in only(result).channels] == ["bm25", "grep"]


def test_a_line_of_a_changed_file_is_itself(make_database: MakeDatabase, docs: Path) -> None:
    """Not yet taken in again: the answer is what the disk says now, under an id of its own."""
    database = make_database(folder=docs)
    database.add(docs)
    (docs / "a.md").write_text("first\nlr_decay is now 0.25\nlast\n", encoding="utf-8")
    hit = only(grep(database, "lr_decay"))
    assert (hit.content, hit.source_ref, hit.locator) == ("lr_decay is now 0.25", "a.md", "L2")
    assert hit.chunk_id.startswith("g") and hit.content_hash == sha256_text(hit.content)
    assert (hit.freshness, hit.metadata["as_on_disk"]) == ("fresh", True)
    database.sync()
    assert only(grep(database, "lr_decay")).chunk_id.startswith("c")


def test_an_untouched_line_of_a_changed_file_is_itself_too(make_database: MakeDatabase, docs: Path) -> None:
    """The chunk's text may be out of date elsewhere, so the line answers for itself until the next sync."""
    database = make_database(folder=docs)
    database.add(docs)
    (docs / "a.md").write_text(TEXT + "and one line more\n", encoding="utf-8")
    hit = only(grep(database, "lr_decay"))
    assert (hit.content, hit.locator, hit.chunk_id[0], hit.freshness) == ("lr_decay is 0.5 here", "L7", "g", "fresh")


def test_a_file_that_was_not_taken_in_is_searched(make_database: MakeDatabase, docs: Path) -> None:
    """New since the last sync, or of a kind that no reader reads."""
    database = make_database(folder=docs)
    database.add(docs)
    (docs / "new.txt").write_text("zyzzyva\n", encoding="utf-8")
    (docs / "odd.kind-nobody-reads").write_text("zyzzyva\n", encoding="utf-8")
    assert [item.source_ref for item in grep(database, "zyzzyva").evidence] == ["new.txt", "odd.kind-nobody-reads"]


def test_lines_close_together_are_one_answer(make_database: MakeDatabase, tmp_path: Path) -> None:
    """Twenty lines of a loose file share an answer; farther ones have their own, in order of the file."""
    folder = tmp_path / "docs"
    folder.mkdir()
    database = make_database(folder=folder)
    database.add(folder)
    lines = [f"zyzzyva {n}" if n in (1, 5, 40) else "-" for n in range(1, 50)]
    (folder / "b.txt").write_text("\n".join(lines), encoding="utf-8")
    result = grep(database, "zyzzyva")
    assert sorted((item.locator, item.content) for item in result.evidence) == [
        ("L1-5", "zyzzyva 1\nzyzzyva 5"), ("L40", "zyzzyva 40"),
    ]  # fmt: skip


def test_ids_differ_between_scopes_that_see_the_same_file(make_database: MakeDatabase, docs: Path) -> None:
    """A loose line and a chunk have other ids for a neighbour, who answers with its own chunk."""
    ids = []
    for scope in (None, other_scopes()[1]):
        database = make_database(
            folder=docs, path=docs.parent / "arr.db", **({} if scope is None else {"scope": scope})
        )
        database.add(docs)
        (docs / "new.txt").write_text("lr_decay\n", encoding="utf-8")
        ids.append({item.chunk_id for item in grep(database, "lr_decay").evidence})
        (docs / "new.txt").unlink()
    assert [len(found) for found in ids] == [2, 2]
    assert not ids[0] & ids[1]


# --- Order and number ---------------------------------------------------------------------------------------------------


def test_what_holds_more_and_rarer_needles_comes_first(make_database: MakeDatabase, tmp_path: Path) -> None:
    """Both identifiers, then the rare one, then the common one; k cuts, and all are counted."""
    folder = tmp_path / "docs"
    folder.mkdir()
    texts = {"both.txt": "lr_decay and warm_up", "rare.txt": "warm_up", "c1.txt": "lr_decay", "c2.txt": "lr_decay"}
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    database = make_database(folder=folder)
    database.add(folder)
    result = grep(database, "lr_decay warm_up")
    ranks = {item.source_ref: item.channels[0].rank for item in result.evidence}
    assert ranks == {"both.txt": 1, "rare.txt": 2, "c1.txt": 3, "c2.txt": 4}
    assert [len(grep(database, "lr_decay warm_up", k=2).evidence), result.traces[0].candidate_count] == [2, 4]


# --- Trusted trees ------------------------------------------------------------------------------------------------------


def test_without_roots_the_channel_says_so(make_database: MakeDatabase) -> None:
    """Unavailable, with what to do."""
    result = grep(make_database(), "anything")
    assert [(item.code, item.tool_name) for item in result.degradations] == [(ReasonCode.NO_ROOTS, "grep")]
    assert (result.traces[0].state, result.state) == ("unavailable", "incomplete")


def test_a_root_that_is_not_there_is_named_as_such(make_database: MakeDatabase, docs: Path) -> None:
    """Unavailable when none is there; with another root that is, its hits come with ``root_missing``."""
    database = make_database(folder=docs.parent / "project")
    database.add(docs)
    docs.rename(docs.parent / "away")
    result = grep(database, "lr_decay")
    assert (result.traces[0].state, result.degradations[0].code, result.state) == (
        "unavailable",
        ReasonCode.ROOT_MISSING,
        "incomplete",
    )
    database.add(docs.parent / "away")
    result = grep(database, "lr_decay")
    assert (result.traces[0].state, result.degradations[0].code, len(result.evidence)) == (
        "cut",
        ReasonCode.ROOT_MISSING,
        1,
    )
    assert {"roots": 1, "of": 2}.items() <= result.degradations[0].detail.items()


def test_another_branch_is_not_searched(make_database: MakeDatabase, docs: Path) -> None:
    """Contract 9.4: unavailable with ``other_branch`` until the scope's branch is checked out again."""
    git_folder(docs, "main")
    database = make_database(folder=docs)
    database.add(docs)
    assert grep(database, "lr_decay").partial is False
    git_folder(docs, "side")
    result = grep(database, "lr_decay")
    assert (result.traces[0].state, result.degradations[0].code, result.evidence) == (
        "unavailable",
        ReasonCode.OTHER_BRANCH,
        (),
    )
    git_folder(docs, "main")
    assert grep(database, "lr_decay").partial is False


def test_another_repository_in_the_same_place_is_not_searched(make_database: MakeDatabase, docs: Path) -> None:
    """The tree must still be what it was when it was added."""
    git_folder(docs, "main", "https://example.org/tools.git")
    database = make_database(folder=docs)
    database.add(docs)
    git_folder(docs, "main", "https://example.org/other.git")
    assert grep(database, "lr_decay").degradations[0].code is ReasonCode.OTHER_BRANCH


def test_a_root_inside_a_root_answers_once(make_database: MakeDatabase, docs: Path) -> None:
    """A folder and a file that were added before the folder around them: each line is found once, under its own root."""
    (docs / "sub").mkdir()
    (docs / "sub" / "b.txt").write_text("zyzzyva in a folder\n", encoding="utf-8")
    (docs / "one.txt").write_text("zyzzyva in a file\n", encoding="utf-8")
    (docs / "one.txt.bak").write_text("zyzzyva beside it\n", encoding="utf-8")
    database = make_database(folder=docs.parent / "project")
    for target in (docs / "sub", docs / "one.txt", docs):
        database.add(target)
    result = grep(database, "zyzzyva")
    assert sorted(item.content for item in result.evidence) == [
        "zyzzyva beside it",
        "zyzzyva in a file",
        "zyzzyva in a folder",
    ]
    assert [item.metadata["matched_lines"] for item in result.evidence] == [[1], [1], [1]]
    assert result.traces[0].detail["lines"] == 3


def test_a_single_trusted_file_is_all_that_is_searched(make_database: MakeDatabase, docs: Path) -> None:
    """Its neighbours are not read; when it is gone there is nothing."""
    (docs / "beside.txt").write_text("lr_decay too\n", encoding="utf-8")
    database = make_database(folder=docs.parent / "project")
    database.add(docs / "a.md")
    result = grep(database, "lr_decay")
    assert ([item.source_ref for item in result.evidence], result.traces[0].detail["files"]) == (["docs/a.md"], 1)
    (docs / "a.md").unlink()
    assert (grep(database, "lr_decay").traces[0].state, grep(database, "lr_decay").traces[0].detail["files"]) == (
        "empty",
        0,
    )


@pytest.mark.skipif(os.name == "nt", reason="needs symbolic links")
def test_links_are_not_followed(make_database: MakeDatabase, docs: Path) -> None:
    """Neither to a file nor to a folder outside the root."""
    outside = docs.parent / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_text("lr_decay outside\n", encoding="utf-8")
    (docs / "link.txt").symlink_to(outside / "secret.txt")
    (docs / "folder").symlink_to(outside)
    database = make_database(folder=docs)
    database.add(docs)
    assert [item.source_ref for item in grep(database, "lr_decay").evidence] == ["a.md"]


@pytest.mark.skipif(sys.platform != "linux", reason="needs a file system that takes any bytes for a name")
def test_a_name_that_is_not_utf8_is_shown_by_number(make_database: MakeDatabase, docs: Path) -> None:
    """The line is found and recorded; its odd byte is written as ``\\udcff``."""
    database = make_database(folder=docs)
    database.add(docs)
    Path(os.fsdecode(os.fsencode(docs) + b"/odd-\xff.txt")).write_text("zyzzyva\n", encoding="utf-8")
    result = grep(database, "zyzzyva")
    assert (only(result).source_ref, result.rejections) == ("odd-\\udcff.txt", ())
    assert database.retrievals(result.retrieval_id)[0]["evidence"][0]["source_ref"] == "odd-\\udcff.txt"


def test_a_credential_is_counted_and_never_shown(make_database: MakeDatabase, docs: Path) -> None:
    """A line that holds one is withheld, with its neighbours found."""
    token = "ghp_" + "a1B2" * 9
    (docs / "b.txt").write_text(f"zyzzyva one\nzyzzyva token = {token}\n", encoding="utf-8")
    database = make_database(folder=docs)
    database.add(docs)
    result = grep(database, "zyzzyva")
    assert result.traces[0].detail["withheld"] == 1
    assert token not in repr(result)


def test_a_search_without_time_is_cut_and_says_so(make_database: MakeDatabase, docs: Path) -> None:
    """Never silently less: the limit that was met is named."""
    database = make_database(folder=docs)
    database.add(docs)
    catalog, _ = database._catalog()
    registration = catalog.get("grep")
    assert registration is not None
    answer = registration.channel.retrieve("lr_decay", database.scope, 10, time.monotonic() - 1)
    assert (answer.state, answer.code, answer.detail["limit"]) == ("cut", ReasonCode.CUT, "deadline")
