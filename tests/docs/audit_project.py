"""The small project whose file docs/audit.md asks questions of. A stepping clock and no model: the same rows every time."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path

from arr_sql.core.research_models import ScopeKey
from arr_sql.database import ResearchDatabase
from arr_sql.errors import ArrError
from tests.conftest import StepClock

SCOPE = ScopeKey(
    team_id="vision", project_id="lumen", repository="lab/lumen", branch="main", experiment_environment="a100"
)
WITHOUT_VECTORS = {"version": 1, "tool_rounds": [["research-memory", "bm25", "grep"]]}
FILES = {
    "notes/warmup.md": (
        "# Warmup\n\nRun r7 diverged at step 1,840 with error NAN_LOSS_17.\nWith 2,000 warmup steps run r8 was stable.\n"
    ),
    "notes/data.md": "# Data\n\nThe dev set has 812 questions.\n",
    "deploy.ini": "[db]\nhost = db1\npassword = Zk7-quartz-9931-mule\n",
    ".env": "TOKEN=unread\n",
}  # fmt: skip


def build(folder: Path) -> Path:
    """Make the project in ``folder`` and live with it for a while. The path of its database file."""
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8", newline="\n")
    file = folder / ".arr" / "arr.db"
    clock = StepClock()

    def as_actor(actor: str) -> ResearchDatabase:
        return ResearchDatabase.create(
            file, SCOPE, project_folder=folder, actor=actor, clock=clock, embedder=lambda: None
        )

    with as_actor("ana") as ana:
        ana.add(folder)
        ana.search("why did r7 diverge")
        ana.add_memory(
            memory_id="warmup-2000", kind="knowledge", title="Warmup steps", content="Use 2,000 warmup steps.",
            source_refs=("notes/warmup.md",),
        )  # fmt: skip
    with as_actor("bo") as bo:
        bo.set_memory_status("warmup-2000", "published")
        bo.search("how many warmup steps", plan=WITHOUT_VECTORS, k=3)
        bo.search("NAN_LOSS_17", plan={"version": 1, "tool_rounds": [["bm25", "web-search"]]})
    note = folder / "notes" / "warmup.md"
    note.write_text(note.read_text("utf-8").replace("1,840", "1,841"), "utf-8", newline="\n")
    with as_actor("ana") as ana:
        ana.sync()
        ana.set_memory_status("warmup-2000", "revoked", "measured on the wrong split")
    _approve(as_actor)
    (folder / "notes" / "data.md").rename(folder / "notes" / "dataset.md")
    with as_actor("ana") as ana:
        ana.sync()
        ana.add_memory(memory_id="scratch", title="A name", content="Written down by mistake.", kind="knowledge")
        ana.forget(memory_ids=["scratch"])
    with as_actor("cy") as cy:
        cy.search("warmup", plan=WITHOUT_VECTORS, k=3)
        cy.replay_all()
    return file


def _approve(as_actor: Callable[[str], ResearchDatabase]) -> None:
    """A case that needs another person: a package, a refused and a real decision, a receipt, and then its publication."""
    payload = {"plan": "repeat r8 with 3,000 warmup steps", "runs": 1}
    with as_actor("ana") as ana:
        ana.add_memory(
            memory_id="longer-warmup", title="Longer warmup", content="Does r8 gain from 3,000 warmup steps?", kind="research_case",
            source_refs=("notes/warmup.md",),
        )  # fmt: skip
        package = ana.request_approval("longer-warmup", payload, risk_level="medium", package_id="pkg-1")
        with contextlib.suppress(ArrError):
            ana.decide_approval("pkg-1", "approved", payload_hash=package.payload_hash)
    with as_actor("bo") as bo:
        decision = bo.decide_approval("pkg-1", "approved", payload_hash=package.payload_hash, reason="one run is cheap")
    with as_actor("ana") as ana:
        ana.record_receipt(
            "pkg-1", case_id="longer-warmup", payload_hash=package.payload_hash, receipt_token=decision.receipt_token or "",
            receipt_id="run-9", status="passed",
            body={"environment": "a100", "verification_summary": "r9 was stable", "evidence_refs": ["runs/r9.log"]},
        )  # fmt: skip
    with as_actor("bo") as bo:
        bo.set_memory_status("longer-warmup", "published", "receipt run-9")
