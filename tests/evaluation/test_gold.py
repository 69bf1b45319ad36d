"""The loader of gold sets: what it takes in three layouts, and each refusal with file and line."""

from __future__ import annotations

import json
import lzma
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from arr_sql.errors import GoldInvalid
from arr_sql.evaluation.gold import load_gold
from tests.evaluation.gold_maker import QRELS, SCOPE, head, put, single_file, write_collection, write_folder


def test_a_folder_is_read_as_it_is(tmp_path: Path) -> None:
    """Scopes, files, memories, topics with lures, judgements with notes."""
    gold = load_gold(write_folder(tmp_path / "small"))
    assert (gold.name, gold.version, gold.licence) == ("small", "1", "Apache-2.0")
    assert gold.scopes["rival"].branch == "rival"
    assert sorted(gold.files["main"]) == ["notes/nan.md", "notes/学习率.md", "src/train.py"]
    assert gold.files["rival"]["notes/peak.md"].read_bytes().startswith(b"# Peak")
    assert [(memory.memory_id, memory.status) for memory in gold.memories] == [
        ("m1", "published"), ("m1", "published"), ("m2", "revoked"),
    ]  # fmt: skip
    first, second = gold.judgements["t1"]
    assert (first.item.path, first.item.anchor, first.grade, first.note) == (
        "notes/nan.md", "step 4100", 3, "names the step",
    )  # fmt: skip
    assert (second.item.path, second.item.anchor) == ("src/train.py", "")
    assert gold.judgements["t2"][0].item.memory_id == "m1"
    assert [
        topic.topic_id
        for topic in gold.topics
        if not any(item.grade > 0 for item in gold.judgements.get(topic.topic_id, ()))
    ] == ["t3"]
    assert gold.topics[3].lures[0].item == "notes/peak.md#1e-3"


def test_the_single_file_says_the_same(tmp_path: Path) -> None:
    """With paths as items, and with ids of the corpus as items."""
    folder = load_gold(write_folder(tmp_path / "small"))
    value = single_file()
    value["qrels"][1]["item"] = "main:src/train.py"
    gold = load_gold(put(tmp_path / "small.json", json.dumps(value)))
    assert (gold.topics, gold.memories, gold.scopes) == (folder.topics, folder.memories, folder.scopes)
    assert {topic: [(j.item, j.grade) for j in judged] for topic, judged in gold.judgements.items()} == {
        topic: [(j.item, j.grade) for j in judged] for topic, judged in folder.judgements.items()
    }
    for alias, files in folder.files.items():
        assert {name: file.read_bytes() for name, file in files.items()} == {
            name: file.read_bytes() for name, file in gold.files[alias].items()
        }


@pytest.mark.parametrize("packed", [False, True])
def test_the_common_layout_is_one_scope_with_one_chunk_a_document(tmp_path: Path, packed: bool) -> None:
    """Packed or not; queries without a judgement are left out; trec_eval's four columns are understood."""
    folder = write_collection(tmp_path / "small")
    if packed:
        for name in ("corpus.jsonl", "queries.jsonl"):
            (folder / f"{name}.xz").write_bytes(lzma.compress((folder / name).read_bytes()))
            (folder / name).unlink()
        put(folder / "qrels.tsv", "q1 0 d1 1\n")
    gold = load_gold(folder)
    assert [(d.id, d.title, d.text) for d in gold.documents] == [
        ("d1", "Router", "A router has a budget."), ("d2", "", "Plans."),
    ]  # fmt: skip
    assert [(topic.topic_id, topic.topic_class) for topic in gold.topics] == [("q1", "judged")]
    assert [(j.item.text, j.grade) for j in gold.judgements["q1"]] == [("d1", 1)]


Change = Callable[[Path], object]


def line(name: str, text: str) -> Change:
    """Append a line to a file of the set."""
    return lambda folder: put(folder / name, (folder / name).read_text("utf-8") + text + "\n")


def record(name: str, **values: Any) -> Change:
    """Append a record to a file of the set."""
    return line(name, json.dumps(values))


def set_json(**changes: Any) -> Change:
    """Write set.json anew, indented, so that keys have lines."""
    return lambda folder: put(folder / "set.json", json.dumps(head(**changes), indent=1))


TOPIC: dict[str, Any] = {"topic_id": "new", "scope": "main", "class": "paraphrase", "query": "q"}
MEMORY: dict[str, Any] = {"memory_id": "new", "scope": "main", "title": "t", "content": "c"}
TWICE = "# Loss became NaN\n\nThe loss became NaN at step 4100, yes, at step 4100.\n"
BROKEN: dict[str, tuple[Change, str, int, str]] = {
    "scope without a value": (
        set_json(scopes={"main": {k: v for k, v in SCOPE.items() if k != "branch"}}), "set.json", 7, "exactly"),
    "scope with a blank value": (set_json(scopes={"main": {**SCOPE, "branch": " "}}), "set.json", 7, "blank"),
    "two names for one scope": (set_json(scopes={"main": SCOPE, "rival": SCOPE}), "set.json", 6, "same scope"),
    "alias that is a path": (set_json(scopes={"../main": SCOPE}), "set.json", 7, "folder's name"),
    "no scopes": (set_json(scopes={}), "set.json", 6, "aliases"),
    "no version": (set_json(version=""), "set.json", 3, "version"),
    "unknown class in the set": (set_json(classes=["hard"]), "set.json", 22, "classes"),
    "class that the set lacks": (
        set_json(classes=["exact_term", "memory", "no_answer", "lure"]), "topics.jsonl", 5, "code_error"),
    "folder that is no scope": (lambda f: put(f / "files" / "stray" / "a.md", "a"), "files", 0, "stray"),
    "topic twice": (record("topics.jsonl", **{**TOPIC, "topic_id": "t1"}), "topics.jsonl", 6, "twice"),
    "topic of an unknown scope": (record("topics.jsonl", **{**TOPIC, "scope": "x"}), "topics.jsonl", 6, "unknown"),
    "topic with an unknown key": (record("topics.jsonl", **TOPIC, weight=1), "topics.jsonl", 6, "weight"),
    "topic of an unknown class": (record("topics.jsonl", **{**TOPIC, "class": "x"}), "topics.jsonl", 6, "class"),
    "topic without an answer": (record("topics.jsonl", **TOPIC), "topics.jsonl", 6, "relevant"),
    "lure topic without a lure": (record("topics.jsonl", **{**TOPIC, "class": "lure"}), "topics.jsonl", 6, "no lure"),
    "lure in the topic's scope": (
        record("topics.jsonl", **TOPIC, lures=[{"scope": "main", "item": "src/train.py"}]), "topics.jsonl", 6, "own"),
    "lure that is not there": (
        record("topics.jsonl", **TOPIC, lures=[{"scope": "rival", "item": "src/train.py"}]), "topics.jsonl", 6, "main"),
    "topic that is not JSON": (line("topics.jsonl", "{'a': 1}"), "topics.jsonl", 6, "JSON"),
    "key twice": (line("topics.jsonl", '{"topic_id": "a", "topic_id": "b"}'), "topics.jsonl", 6, "twice"),
    "NaN": (line("memories.jsonl", '{"confidence": NaN}'), "memories.jsonl", 4, "NaN"),
    "list for a record": (line("topics.jsonl", "[]"), "topics.jsonl", 6, "object"),
    "memory twice": (record("memories.jsonl", **{**MEMORY, "memory_id": "m1"}), "memories.jsonl", 4, "twice"),
    "memory of an unknown kind": (record("memories.jsonl", **MEMORY, kind="rumour"), "memories.jsonl", 4, "kind"),
    "memory of an unknown scope": (record("memories.jsonl", **{**MEMORY, "scope": "x"}), "memories.jsonl", 4, "unknown"),
    "judgement twice": (line("qrels.tsv", "t5\tsrc/train.py\t1"), "qrels.tsv", 8, "twice"),
    "judgement of an unknown topic": (line("qrels.tsv", "t9\tsrc/train.py\t1"), "qrels.tsv", 8, "t9"),
    "unknown file": (line("qrels.tsv", "t5\tsrc/lost.py\t1"), "qrels.tsv", 8, "not in the set"),
    "file of another scope": (line("qrels.tsv", "t5\tnotes/peak.md\t1"), "qrels.tsv", 8, "'rival'"),
    "unknown memory": (line("qrels.tsv", "t5\tmemory:m9\t1"), "qrels.tsv", 8, "not in the set"),
    "anchor that is not there": (line("qrels.tsv", "t5\tnotes/nan.md#step 7\t1"), "qrels.tsv", 8, "0 times"),
    "anchor that stands twice": (
        lambda f: put(f / "files/main/notes/nan.md", TWICE), "qrels.tsv", 2, "2 times"),
    "anchor in a file that is no text": (
        lambda f: (f / "files/main/notes/nan.md").write_bytes(b"\x89PNG\r\n\x1a\n step 4100"), "qrels.tsv", 2, "not text"),
    "grade beyond 3": (line("qrels.tsv", "t5\tnotes/nan.md\t4"), "qrels.tsv", 8, "grade"),
    "grade that is no number": (line("qrels.tsv", "t5\tnotes/nan.md\thigh"), "qrels.tsv", 8, "grade"),
    "judgement without a grade": (line("qrels.tsv", "t5\tnotes/nan.md"), "qrels.tsv", 8, "tabs"),
    "answer to a topic that has none": (line("qrels.tsv", "t3\tsrc/train.py\t1"), "topics.jsonl", 3, "no_answer"),
    "bytes that are not UTF-8": (
        lambda f: (f / "qrels.tsv").write_bytes(b"t5\tsrc/train.py\t1\nt5\t\xff\t1\n"), "qrels.tsv", 2, "UTF-8"),
    "no topics": (lambda f: (f / "topics.jsonl").unlink(), "topics.jsonl", 0, "missing"),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_set_is_refused_with_file_and_line(tmp_path: Path, name: str) -> None:
    """Each fault is named where it stands."""
    folder = write_folder(tmp_path / "small")
    change, file, number, words = BROKEN[name]
    change(folder)
    with pytest.raises(GoldInvalid) as caught:
        load_gold(folder)
    assert (Path(caught.value.path), caught.value.line) == (folder / file, number)
    assert words in str(caught.value)


def test_the_single_file_names_the_line_of_an_element(tmp_path: Path) -> None:
    """Whatever the layout of the JSON."""
    value = single_file()
    for key, entry, words in (
        ("qrels", {"topic_id": "t1", "item": "rival:notes/peak.md", "grade": 1}, "belongs to scope 'rival'"),
        ("corpus", {"id": "x", "scope": "main", "path": "../a", "text": "a"}, "inside"),
        ("corpus", {"id": "x", "scope": "main", "path": "src/train.py", "text": "a"}, "twice"),
        ("corpus", {"id": "x", "scope": "none", "path": "a", "text": "a"}, "scopes"),
        ("corpus", {"id": "x", "scope": "main", "path": "a"}, "text"),
        ("topics", {**TOPIC, "topic_id": "t1"}, "twice"),
        ("memories", {**MEMORY, "memory_id": "m1"}, "twice"),
    ):
        broken = {**value, key: [*value[key], entry]}
        text = json.dumps(broken, indent=2, ensure_ascii=False)
        path = put(tmp_path / "small.json", text)
        with pytest.raises(GoldInvalid, match=words) as caught:
            load_gold(path)
        wanted = text.split("\n")[caught.value.line - 1 :]
        assert json.JSONDecoder().raw_decode("\n".join(wanted).strip())[0] == entry


def test_a_symbolic_link_is_no_file_of_a_set(tmp_path: Path) -> None:
    """A set must say the same wherever it is unpacked."""
    folder = write_folder(tmp_path / "small")
    try:
        (folder / "files/main/link.md").symlink_to(folder / "files/main/notes/nan.md")
    except OSError:
        pytest.skip("this user may not make symbolic links")
    with pytest.raises(GoldInvalid, match="ordinary file"):
        load_gold(folder)


@pytest.mark.parametrize(
    ("file", "text", "number", "words"),
    [
        ("corpus.jsonl", '{"id": "d1"}\n{"id": "d1"}\n', 2, "twice"),
        ("corpus.jsonl", '{"title": "a"}\n', 1, "id"),
        ("queries.jsonl", '{"id": "q1", "text": "a"}\n{"id": "q1", "text": "b"}\n', 2, "twice"),
        ("queries.jsonl", '{"id": "q1", "text": " "}\n', 1, "no text"),
        ("queries.jsonl", '{"id": "q7", "text": "a"}\n', 0, "No query"),
        ("qrels.tsv", "q1\td1\t1\nq1\td9\t1\n", 2, "d9"),
        ("qrels.tsv", "q1\td1\t1\nq1\td1\t1\n", 2, "twice"),
        ("qrels.tsv", "query\tdocument\tgrade\nq1\td1\tyes\n", 2, "tabs"),
    ],
)
def test_a_broken_collection_is_refused(tmp_path: Path, file: str, text: str, number: int, words: str) -> None:
    """With the same care."""
    folder = write_collection(tmp_path / "small")
    put(folder / file, text)
    with pytest.raises(GoldInvalid, match=words) as caught:
        load_gold(folder)
    assert caught.value.line == number


def test_what_is_no_gold_set_is_refused(tmp_path: Path) -> None:
    """A folder without any of the files, and a path that is not there."""
    for path in (tmp_path, tmp_path / "none"):
        with pytest.raises(GoldInvalid, match="no gold set"):
            load_gold(path)


def test_an_anchor_may_hold_a_hash_and_a_path_too(tmp_path: Path) -> None:
    """The first # ends the path, unless a file has that very name."""
    folder = write_folder(tmp_path / "small")
    put(folder / "files/main/c#.md", "about C#\n")
    put(folder / "files/main/list.md", "see #42 here\n")
    put(
        folder / "qrels.tsv",
        "".join("\t".join(map(str, q)) + "\n" for q in QRELS) + "t1\tc#.md\t1\nt1\tlist.md##42\t1\n",
    )
    items = {j.item.text: j.item for j in load_gold(folder).judgements["t1"]}
    assert (items["c#.md"].path, items["c#.md"].anchor) == ("c#.md", "")
    assert (items["list.md##42"].path, items["list.md##42"].anchor) == ("list.md", "#42")
