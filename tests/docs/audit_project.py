"""The small project whose file docs/audit.md asks questions of. A stepping clock and no model: the same rows every time."""

from __future__ import annotations

from pathlib import Path

from arr_sql.core.research_models import ScopeKey
from arr_sql.database import ResearchDatabase
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
    return file
