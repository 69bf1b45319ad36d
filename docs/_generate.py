"""The generated parts of the documentation. Each function gives Markdown; the pages call it through cog.

Bring the pages up to date:  cog -r README*.md docs/*.md
Check them, as CI does:      cog --check README*.md docs/*.md

Everything comes from the code itself: the click tree, the closed vocabularies, the tables of the readers. ``_generate_sql`` does
the migrations and the statement files. Held by tests/docs/test_generated.py.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator
from pathlib import Path

import click

PACKAGE = Path(__file__).resolve().parents[1] / "arr_sql"
WIDTH = 100


def cell(text: str) -> str:
    return text.replace("|", "\\|")


# --- docs/cli.md ------------------------------------------------------------------------------------------------------


def commands() -> Iterator[click.Context]:
    """Every command of ``arr`` in its context, groups before their members; ``command_path`` is its full name."""
    from arr_sql.cli import arr

    yield from _commands("arr", arr, None)


def _commands(name: str, command: click.Command, parent: click.Context | None) -> Iterator[click.Context]:
    settings = {**command.context_settings, "max_content_width": WIDTH, "terminal_width": WIDTH}
    context = click.Context(command, info_name=name, parent=parent, **settings)
    yield context
    if isinstance(command, click.Group):
        for child in command.list_commands(context):
            member = command.get_command(context, child)
            assert member is not None
            yield from _commands(child, member, context)


def help_pages() -> str:
    """The ``--help`` page of every command."""
    parts = []
    for context in commands():
        name = context.command_path
        text = "\n".join(line.rstrip() for line in context.get_help().splitlines())
        level = "##" if name.count(" ") < 2 else "###"
        parts.append(f"{level} {name}\n\n```text\n{text}\n```\n")
    return "\n".join(parts)


# --- docs/reason-codes.md, docs/errors.md --------------------------------------------------------------------------------


def reason_groups() -> list[tuple[str, list[str]]]:
    """The groups of ReasonCode as its own source comments name them."""
    from arr_sql.core.router_models import ReasonCode

    groups: list[tuple[str, list[str]]] = []
    for line in inspect.getsource(ReasonCode).splitlines():
        text = line.strip()
        if text.startswith("#"):
            groups.append((text.lstrip("# ").rstrip("."), []))
        elif match := re.fullmatch(r'[A-Z_]+ = "([a-z_]+)"', text):
            groups[-1][1].append(match.group(1))
    return groups


def reason_codes() -> str:
    """Every code with its sentence, by group."""
    from arr_sql.core.router_models import REASON_TEXT, ReasonCode

    parts = []
    for title, codes in reason_groups():
        parts += [f"## {title}\n", "| code | what it says |", "|---|---|"]
        parts += [f"| `{code}` | {cell(REASON_TEXT[ReasonCode(code)])} |" for code in codes]
        parts.append("")
    return "\n".join(parts)


def error_classes() -> list[tuple[int, type]]:
    """(depth, class) of the whole error tree, parents before children."""
    from arr_sql.errors import ArrError

    def below(depth: int, kind: type) -> Iterator[tuple[int, type]]:
        yield depth, kind
        child: type
        for child in kind.__subclasses__():
            if child.__module__ == "arr_sql.errors":
                yield from below(depth + 1, child)

    return list(below(0, ArrError))


def error_tree() -> str:
    """The error tree as a table; the indent shows the parent."""
    rows = ["| error | what it means | exit code |", "|---|---|---|"]
    for depth, kind in error_classes():
        text = " ".join((inspect.getdoc(kind) or "").split()).replace("``", "`")
        rows.append(f"| {'&nbsp;&nbsp;&nbsp;&nbsp;' * depth}`{kind.__name__}` | {cell(text)} | {kind.exit_code} |")  # type: ignore[attr-defined]
    return "\n".join(rows) + "\n"


# --- docs/audit.md -----------------------------------------------------------------------------------------------------


def hashed_fields() -> str:
    """What the hash of each kind of row covers."""
    from arr_sql.core.row_hashes import VERSION_FIELDS
    from arr_sql.memory.approvals import DECISION_FIELDS, PACKAGE_FIELDS
    from arr_sql.memory.receipts import RECEIPT_FIELDS
    from arr_sql.memory.research_store import MEMORY_FIELDS
    from arr_sql.memory.retrieval_log import EVIDENCE_FIELDS, RECORD_FIELDS

    def names(fields: tuple[str, ...]) -> str:
        return ", ".join(f"`{name}`" for name in fields)

    return "\n".join(
        (
            "| subject | table | what `subject_hash` covers |", "|---|---|---|",
            f"| `source_version` | `source_version` | an object with {names(VERSION_FIELDS)} |",
            f"| `memory` | `memory`, one row a version | an object with {names(MEMORY_FIELDS)} |",
            "| `retrieval` | `retrieval` and `retrieval_evidence` | an array of two: an object with "
            f"{names(RECORD_FIELDS)}; and an array with, for each item by rank, an object with {names(EVIDENCE_FIELDS)} |",
            f"| `approval_package` | `approval_package` | an object with {names(PACKAGE_FIELDS)} |",
            f"| `approval_decision` (id: the package's) | `approval_decision` | an object with {names(DECISION_FIELDS)} |",
            f"| `verification_receipt` (id: the event key) | `verification_receipt` | an object with {names(RECEIPT_FIELDS)} |",
        )
    ) + "\n"  # fmt: skip


# --- docs/sources.md ---------------------------------------------------------------------------------------------------

WELL_KNOWN = ".c .cpp .cu .go .java .js .jl .m .r .rs .sh .sql .ts"

# Said here because the code says only the name. The test fails when a reason is missing or no longer exists.
LEFT_OUT: dict[str, str] = {
    "ignored": "A rule of `.gitignore` or `.arrignore` matches.",
    "vendored_or_tool_folder": "A folder that belongs to a tool or holds other people's code (below). It counts once.",
    "symlink": "A symbolic link or junction. It is never followed; add the place it points to, if you want it.",
    "special_file": "A pipe, socket or device. Opening one could block or have an effect.",
    "outside_root": "The path would leave the added folder.",
    "sensitive_name": "The name says that it holds keys or passwords. The file is never opened.",
    "permission_denied": "You may not read it. Its last version stays in the store.",
    "too_large": "Larger than `sources.max_file_bytes` (16 MiB unless `arr.toml` says otherwise).",
    "vanished": "It was there when the folder was listed and gone when it was opened.",
    "changed_while_reading": "It was being written. Three attempts were made; the next sync takes it. Its last version stays.",
    "not_a_file": "The name is a folder or something else now.",
    "own_file": "`arr.toml` and `.arrignore` are about the store, not in it.",
    "unreadable": "A read error, or no encoding is certain enough. Text is never guessed into wrong characters.",
    "binary": "The content is not text, whatever the name says.",
    "unknown_format": "No reader for a file of this name.",
    "name_not_utf8": "The name is not valid UTF-8, so it can't be stored or cited.",
    "limit_reached": "Beyond a limit of the walk, such as folders 256 levels deep.",
}


def reader_refusals() -> dict[str, str]:
    """What a reader itself may say of a file that it can't read, with the code's own sentences."""
    from arr_sql.ingest.readers import base

    return dict(getattr(base, "UNREADABLE", {}))


def left_out_reasons() -> str:
    """Every reason for leaving a file or folder out."""
    rows = ["| reason | what it means |", "|---|---|"]
    reasons = {**LEFT_OUT, **reader_refusals()}
    return "\n".join([*rows, *(f"| `{name}` | {cell(text)} |" for name, text in reasons.items())]) + "\n"


# Formats that people ask for: English name, Chinese name, a file's name.
ASKED_FOR = (
    ("PDF", "PDF", "x.pdf"), ("notebooks", "笔记本（.ipynb）", "x.ipynb"), ("RIS", "RIS", "x.ris"),
    ("Word", "Word", "x.docx"), ("PowerPoint", "PowerPoint", "x.pptx"), ("Excel", "Excel", "x.xlsx"),
    ("EPUB", "EPUB", "x.epub"),
)  # fmt: skip


def unread_formats() -> list[tuple[str, str]]:
    """English and Chinese names of the formats that people ask for and that have no reader."""
    from arr_sql.ingest.readers import reader_for

    return [(english, chinese) for english, chinese, file in ASKED_FOR if reader_for(file) is None]


def not_read_yet() -> str:
    """One sentence about the formats without a reader."""
    names = ", ".join(english for english, _ in unread_formats())
    return f"Not read yet: {names}. Such a file is counted as `unknown_format`, not skipped in silence.\n"


def not_read_yet_chinese() -> str:
    """The same sentence for README.zh-CN.md."""
    names = "、".join(chinese for _, chinese in unread_formats())
    return f"还不能读取：{names}。这样的文件计为 `unknown_format`，不会被悄悄略过。\n"


def tool_folders() -> str:
    """The folders that are never walked."""
    from arr_sql.core.ignore import TOOL_FOLDERS, VENV_MARKER

    names = ", ".join(f"`{name}`" for name in sorted(TOOL_FOLDERS))
    return f"Never walked: {names}, and any folder that holds a `{VENV_MARKER}`.\n"


def readers() -> str:
    """The built-in readers with the suffixes and names that they read."""
    from arr_sql.ingest import readers as module

    rows = ["| reader | files | how it cuts them |", "|---|---|---|"]
    for reader in module._BUILT_IN:
        doc = inspect.getdoc(inspect.getmodule(type(reader))) or ""
        how = " ".join(doc.split("\n\n")[0].split()).replace("``", "`")
        names = [f"`{suffix}`" for suffix in sorted(reader.suffixes)] + [
            f"`{name}`" for name in sorted(getattr(reader, "file_names", ()))
        ]
        shown = " ".join(names)
        if len(names) > 40:
            known = " ".join(f"`{suffix}`" for suffix in WELL_KNOWN.split() if suffix in reader.suffixes)
            shown = f"{len(names)} suffixes and names, among them {known}"
        rows.append(f"| {reader.name} | {shown} | {cell(how)} |")
    return "\n".join(rows) + "\n"


# --- docs/memory.md ----------------------------------------------------------------------------------------------------

# The command that takes a memory to a status.
STATUS_COMMANDS = {
    "candidate": "edit", "verified": "verify", "published": "publish", "deprecated": "deprecate", "conflict": "conflict",
    "expired": "expire", "revoked": "revoke",
}  # fmt: skip
STEP_COMMANDS = {("expired", "published"): "renew", ("conflict", "published"): "resolve"}


def transitions() -> str:
    """Which status may follow which, and the command of each step."""
    from arr_sql.memory.lifecycle import TRANSITIONS

    rows = [f"| from | {' | '.join(TRANSITIONS)} |", f"|---|{'---|' * len(TRANSITIONS)}"]
    for old, allowed in TRANSITIONS.items():
        cells = [
            f"`{STEP_COMMANDS.get((old, new), STATUS_COMMANDS[new])}`" if new in allowed else "" for new in TRANSITIONS
        ]
        rows.append(f"| {old} | {' | '.join(cells)} |")
    return "\n".join(rows) + "\n"


def promotion_conflicts() -> str:
    """What a preview of a promotion can say of the other scope."""
    from arr_sql.memory.promotion import CONFLICT_TEXT

    rows = ["| code | what it means |", "|---|---|"]
    return "\n".join([*rows, *(f"| `{code}` | {cell(text)} |" for code, text in CONFLICT_TEXT.items())]) + "\n"


def memory_fields() -> str:
    """The fields of a memory in a file, in order."""
    from arr_sql.memory.memory_files import FILE_FIELDS

    return "The fields: " + ", ".join(f"`{name}`" for name in FILE_FIELDS) + ".\n"


def lost_stages() -> str:
    """Where a relevant item can be lost, as a table."""
    from arr_sql.evaluation.lost import STAGES

    rows = ["| stage | what it means |", "|---|---|", *(f"| `{name}` | {text} |" for name, text in STAGES.items())]
    return "\n".join(rows)


# --- docs/sql.md ------------------------------------------------------------------------------------------------------


def sql_functions() -> str:
    """The SQL functions, as they register themselves."""
    from arr_sql.retrieval.sql_functions import FUNCTIONS

    rows = ["| function | gives | deterministic |", "|---|---|---|"]
    for function in FUNCTIONS:
        rows.append(
            f"| `{function.signature}` | {cell(function.gives)} | {'yes' if function.is_deterministic else 'no'} |"
        )
    return "\n".join(rows) + "\n"


# --- docs/mcp.md ------------------------------------------------------------------------------------------------------


def mcp_tools() -> str:
    """The tools of `arr mcp`, as they describe themselves to a client."""
    from arr_sql.serve.mcp_tools import PROPOSING, READING

    rows = ["| tool | arguments | what it says of itself |", "|---|---|---|"]
    for tool in (*READING, PROPOSING):
        needed = set(tool.input_schema().get("required", ()))
        names = (f"`{name}`" if name in needed else f"`[{name}]`" for name in tool.arguments.model_fields)
        rows.append(f"| `{tool.name}` | {', '.join(names) or 'none'} | {cell(tool.description)} |")
    return "\n".join(rows) + "\n"


def _figure(value: float | str) -> str:
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def expected_table(name: str, metric: str = "", rows_are: str = "mode") -> str:
    """The figures of ``benchmarks/expected/NAME.json``: metrics of each mode of one set, or one metric of several sets."""
    value = json.loads((PACKAGE.parent / "benchmarks" / "expected" / f"{name}.json").read_text("utf-8"))
    sets: dict[str, dict[str, dict[str, float]]] = value["expected"]
    if metric:
        modes = list(next(iter(sets.values())))
        head = ["set", *modes]
        rows = [
            [found, *(f"{by[mode][metric]:.3f}" if mode in by else "" for mode in modes)] for found, by in sets.items()
        ]
    else:
        by = next(iter(sets.values()))
        head = [rows_are, *max(by.values(), key=len)]
        rows = [[mode, *(_figure(by[mode].get(column, "")) for column in head[1:])] for mode in by]
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
