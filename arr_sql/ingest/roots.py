"""The folders that a scope trusts: adding one, finding it on disk, and telling whether it still is what was added."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from arr_sql.core.clock import to_text
from arr_sql.core.connection import Connection
from arr_sql.core.git_identity import read_git_identity
from arr_sql.core.research_models import ScopeKey
from arr_sql.core.statements import load
from arr_sql.errors import PathRefused


class RootRow(NamedTuple):
    """One added folder, or one file of it. ``prefix`` is what a source_ref of this root begins with."""

    id: int
    prefix: str
    path: Path
    only_file: str | None
    git_repository: str | None
    git_branch: str | None

    def source_ref(self, path_in_root: str) -> str:
        """How evidence names a file of this root."""
        return f"{self.prefix}{path_in_root}"


def read_roots(connection: Connection, scope: ScopeKey, project_folder: Path) -> list[RootRow]:
    """The scope's roots, paths resolved against the project's folder as it is now."""
    rows = connection.execute(load("read_roots"), scope.bindings())
    return [
        RootRow(
            id=row["id"], prefix=f"{row['name']}/" if row["name"] else "", path=project_folder / row["path"],
            only_file=row["only_file"], git_repository=row["git_repository"], git_branch=row["git_branch"],
        )
        for row in rows
    ]  # fmt: skip


def require_addable(target: Path) -> None:
    """Raises PathRefused unless ``target`` is a folder or a file."""
    if not target.exists():
        raise PathRefused(f"'{target.absolute()}' does not exist. Name a folder or a file to add.")
    if not (target.is_dir() or target.is_file()):
        raise PathRefused(
            f"'{target}' is neither a folder nor a file (a pipe, socket or device). Name a folder or a file to add."
        )


def add_root(
    connection: Connection, scope: ScopeKey, scope_id: int, project_folder: Path, target: Path, now: datetime
) -> RootRow:
    """Trust ``target`` (a folder or one file) and return its row; a path that is already covered returns its cover.

    Call inside a write transaction. Raises PathRefused when there is no such folder or file.
    """
    target = target.absolute()
    require_addable(target)
    only_file = None if target.is_dir() else target.name
    folder = (target if target.is_dir() else target.parent).resolve()
    existing = read_roots(connection, scope, project_folder)
    for root in existing:
        covered = root.path.resolve() == folder or root.path.resolve() in folder.parents
        if covered and (root.only_file is None or (root.path.resolve() == folder and root.only_file == only_file)):
            return root
    project = project_folder.resolve()
    inside = folder == project or project in folder.parents
    git = read_git_identity(folder)
    # Two roots must not name their files alike, or one would hide the other's.
    others = {root.prefix.rstrip("/") for root in existing if root.path.resolve() != folder}
    if inside:
        path = folder.relative_to(project).as_posix()
        name = "" if path == "." else _free_name(path, others)
    else:
        path = str(folder)
        mine = {root.prefix.rstrip("/") for root in existing} - others
        name = mine.pop() if mine else _free_name(folder.name or "root", others, project)
    connection.execute(
        load("add_root"),
        {
            "scope_id": scope_id, "name": name, "path": path, "is_inside_project": inside, "only_file": only_file,
            "git_repository": git.repository if git else None, "git_branch": git.branch if git else None,
            "added_at": to_text(now),
        },
    )  # fmt: skip
    return read_roots(connection, scope, project_folder)[-1]


def _free_name(name: str, taken: set[str], project: Path | None = None) -> str:
    """``name``, or with the first number that no other root, and nothing in ``project``, is called by."""
    number, candidate = 1, name
    while candidate in taken or (project is not None and (project / candidate).exists()):
        number += 1
        candidate = f"{name}-{number}"
    return candidate


def is_other_branch(root: RootRow, scope: ScopeKey) -> bool:
    """Is the tree on disk not the scope's: another repository or branch than when the root was added?

    A tree of the scope's own repository must also have the scope's branch checked out.
    """
    git = read_git_identity(root.path)
    if git is not None and git.repository == scope.repository and git.branch != scope.branch:
        return True
    return ((git.repository, git.branch) if git else (None, None)) != (root.git_repository, root.git_branch)
