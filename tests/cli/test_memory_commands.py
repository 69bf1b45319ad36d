"""``arr memory add | publish | list | show | revoke``."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.support import MEMORY, arr

MEMORY_KEYS = {
    "memory_id", "scope", "kind", "title", "content", "source_refs", "confidence", "applicability", "status",
    "conflict_key", "expires_at", "related_memory_ids", "evidence_chunk_ids", "proposed_actions", "metadata",
    "created_at", "updated_at", "revision",
}  # fmt: skip


def found(query: str, project: Path, *options: str) -> list[str]:
    evidence = arr("search", query, "--json", *options, cwd=project).json["evidence"]
    return [item["source_ref"] for item in evidence if item["source_ref"].startswith("memory:")]


def test_from_candidate_to_published_to_revoked(project: Path) -> None:
    """Only between publish and revoke is a memory found."""
    added = arr("memory", "add", "--title", "Zebra rule", "--content", "zebras first", "--source", "a.md", cwd=project)
    assert added.code == 0 and " is candidate: Zebra rule\nNext: arr memory publish m" in added.out
    memory_id = added.out.split()[1]
    assert found("zebra", project) == []
    published = arr("memory", "publish", memory_id, cwd=project)
    assert published.out == f"Memory {memory_id} is published: Zebra rule\n"
    assert found("zebra", project) == [f"memory:{memory_id}"]
    assert arr("memory", "revoke", memory_id, "--reason", "wrong", cwd=project).code == 0
    assert found("zebra", project) == []
    again = arr("memory", "publish", memory_id, "--reason", "x", cwd=project)
    assert (again.code, again.out) == (1, "") and "revoked" in again.err


def test_json_forms_have_every_field(project: Path) -> None:
    """add, show and list give the memory's documented fields; what was given comes back."""
    added = arr(
        "memory", "add", "--title", "T", "--content", "数据 😀", "--kind", "experiment", "--source", "a.md", "--source", "b.md",
        "--confidence", "0.5", "--only-env", "a100", "--conflict-key", " k ", "--expires", "2125-01-02T03:04:05+01:00",
        "--related", MEMORY, "--id", "mine", "--json", cwd=project,
    )  # fmt: skip
    assert (added.code, added.err) == (0, "")
    value = added.json
    assert set(value) == MEMORY_KEYS
    assert (value["memory_id"], value["content"], value["kind"]) == ("mine", "数据 😀", "experiment")
    assert (value["source_refs"], value["related_memory_ids"]) == (["a.md", "b.md"], [MEMORY])
    assert (value["confidence"], value["conflict_key"]) == (0.5, "k")
    assert value["applicability"] == {"experiment_environments": ["a100"]}
    assert value["expires_at"] == "2125-01-02T02:04:05.000000Z"
    assert arr("memory", "show", "mine", "--json", cwd=project).json == value
    listed = arr("memory", "list", "--json", cwd=project).json
    assert listed[0]["memory_id"] == "mine" and len(listed) == 3
    text = arr("memory", "show", "mine", cwd=project).out
    assert "kind: experiment" in text and text.endswith("\n\n数据 😀\n")


def test_list_filters_by_status(project: Path) -> None:
    """--status keeps only that status, in both forms."""
    assert [m["memory_id"] for m in arr("memory", "list", "--status", "candidate", "--json", cwd=project).json] == [
        MEMORY
    ]
    text = arr("memory", "list", "--status", "published", cwd=project).out
    assert "m-kept" in text and MEMORY not in text


def test_content_is_read_from_standard_input_as_utf8(project: Path) -> None:
    """A pipe gives the content, with or without a byte order mark, whatever the locale."""
    for data in ("数据 é\n".encode(), b"\xef\xbb\xbf" + "数据 é\n".encode()):
        ran = arr("memory", "add", "--title", "piped", "--json", cwd=project, stdin=data)
        assert ran.json["content"] == "数据 é\n"


def test_standard_input_that_is_not_utf8_is_refused(project: Path) -> None:
    """A GBK pipe is an error that names the byte; nothing is stored."""
    ran = arr("memory", "add", "--title", "piped", cwd=project, stdin="x数据".encode("gbk"))
    assert (ran.code, ran.out) == (1, "") and "Standard input is not UTF-8 (byte 1). Convert it first." in ran.err
    assert len(arr("memory", "list", "--json", cwd=project).json) == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--expires", "2030-01-01T00:00:00"), "has no time zone"),
        (("--expires", "tomorrow"), "is not an ISO 8601 time"),
        (("--related", "nobody"), "nobody"),
        (("--id", MEMORY), MEMORY),
        (("--id", "i" * 201), "memory_id"),
        (("--confidence", "nan"), "confidence"),
    ],
)
def test_wrong_values_are_errors_with_the_value_named(options: tuple[str, str], message: str, project: Path) -> None:
    """A bad time, an unknown relation, a taken or too long id: exit code 1, and no memory more."""
    ran = arr("memory", "add", "--title", "T", "--content", "C", *options, cwd=project)
    assert (ran.code, ran.out) == (1, "") and message in ran.err and "internal fault" not in ran.err
    assert len(arr("memory", "list", "--json", cwd=project).json) == 2


@pytest.mark.parametrize(
    "options", [("--kind", "poem"), ("--confidence", "1.1"), ("--title", "\udcff"), ("--related", " ")]
)
def test_values_that_an_option_does_not_take_are_usage_errors(options: tuple[str, str], project: Path) -> None:
    """What the help excludes is exit code 2."""
    ran = arr("memory", "add", "--title", "T", "--content", "C", *options, cwd=project)
    assert (ran.code, ran.out) == (2, "") and options[0] in ran.err


def test_publishing_without_a_source_needs_a_reason(project: Path) -> None:
    """No source and no reason: refused with the way out; with a reason it is published."""
    arr("memory", "add", "--title", "T", "--content", "C", "--id", "bare", cwd=project)
    ran = arr("memory", "publish", "bare", cwd=project)
    assert ran.code == 1 and "--reason" in ran.err
    assert arr("memory", "publish", "bare", "--reason", "agreed in the meeting", cwd=project).code == 0


def test_a_memory_for_one_environment_is_found_only_there(project: Path) -> None:
    """--only-env limits a memory within its scope."""
    arr(
        "memory",
        "add",
        "--title",
        "quagga",
        "--content",
        "C",
        "--id",
        "there",
        "--only-env",
        "h800",
        "--source",
        "a",
        cwd=project,
    )
    arr(
        "memory",
        "add",
        "--title",
        "quagga",
        "--content",
        "C",
        "--id",
        "here",
        "--only-env",
        "a100",
        "--source",
        "a",
        cwd=project,
    )
    for memory_id in ("there", "here"):
        assert arr("memory", "publish", memory_id, cwd=project).code == 0
    assert found("quagga", project) == ["memory:here"]


def test_a_conflict_loser_is_named_for_people(project: Path) -> None:
    """Of two memories with one key the stronger is found, and the answer names the other."""
    for memory_id, confidence in (("weak", "0.3"), ("strong", "0.9")):
        arr("memory", "add", "--title", "quagga", "--content", "C", "--id", memory_id, "--confidence", confidence,
            "--conflict-key", "q", "--source", "a", cwd=project)  # fmt: skip
        assert arr("memory", "publish", memory_id, cwd=project).code == 0
    assert found("quagga", project) == ["memory:strong"]
    assert "wins over weak (same conflict key)" in arr("search", "quagga", cwd=project).out
