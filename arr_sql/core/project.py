"""Where am I? From a folder to its project, its database file and its scope (contract 2.6).

``team_id`` and ``project_id`` come from ``arr.toml``, the repository from the git remote (else the name of the folder
that owns the repository, so linked worktrees agree), the branch from HEAD, the environment from ``--env``, ``ARR_ENV``
or ``arr.toml``. What was guessed or is unusual is said in ``notes``, never decided in silence.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from arr_sql.core.filesystem import follow_link
from arr_sql.core.git_identity import GitIdentity, read_git_identity
from arr_sql.core.research_models import ScopeKey
from arr_sql.core.settings import CONFIG_NAME, Settings, read_settings
from arr_sql.errors import StoreMissing

NO_GIT_BRANCH = "no-git"


@dataclass(frozen=True)
class Project:
    """A project as seen from one folder."""

    folder: Path
    settings: Settings
    database: Path
    scope: ScopeKey
    git: GitIdentity | None
    notes: tuple[str, ...]


def find_project(
    start: Path, *, database: Path | None = None, environment: str | None = None, branch: str | None = None
) -> Project:
    """The project that ``start`` belongs to. ``database``, ``environment`` and ``branch`` override what is found.

    Raises StoreMissing when no ``arr.toml`` is found upwards or in the main worktree, InputError for a broken one.
    """
    start = start.resolve()
    git = read_git_identity(start)
    folder = _config_folder(start, git)
    if folder is None:
        raise StoreMissing(f"No {CONFIG_NAME} in '{start}' or above. Run `arr init` in your project's folder.")
    settings = read_settings(folder / CONFIG_NAME)
    if (
        git is not None
        and git.is_linked_worktree
        and git.main_worktree is not None
        and folder not in (start, *start.parents)
    ):
        folder = git.top / folder.relative_to(git.main_worktree)  # its arr.toml, but this tree's files
    scope, notes = derive_scope(folder, settings, git, environment=environment, branch=branch)
    found = follow_link(database or _database(folder, settings, git))
    return Project(folder, settings, found, scope, git, notes)


def derive_scope(
    folder: Path,
    settings: Settings,
    git: GitIdentity | None,
    *,
    environment: str | None = None,
    branch: str | None = None,
) -> tuple[ScopeKey, tuple[str, ...]]:
    """The scope of ``folder`` and notes for people about what is unusual in how it was found."""
    notes: list[str] = []
    repository, found_branch = settings.project.repository, NO_GIT_BRANCH
    if git is None:
        repository = repository or folder.name or "project"
        notes.append(
            f"No git repository here: repository is '{repository}' (the folder's name), branch is '{NO_GIT_BRANCH}'."
        )
    else:
        if not git.has_remote and repository is None:
            notes.append(f"The git repository has no remote: repository is its folder's name, '{git.repository}'.")
        repository, found_branch = repository or git.repository, git.branch
        if git.is_detached and branch is None:
            notes.append(
                f"HEAD is detached: branch is '{found_branch}'. Check out a branch, or name one with --branch."
            )
    return (
        ScopeKey(
            team_id=settings.project.team_id,
            project_id=settings.project.project_id,
            repository=repository,
            branch=branch or found_branch,
            experiment_environment=environment
            or os.environ.get("ARR_ENV", "").strip()
            or settings.project.experiment_environment,
        ),
        tuple(notes),
    )


def _config_folder(start: Path, git: GitIdentity | None) -> Path | None:
    for folder in (start, *start.parents):
        if (folder / CONFIG_NAME).is_file():
            return folder
    # A linked worktree whose arr.toml is not committed: the main worktree's holds for all.
    if git is not None and git.is_linked_worktree and git.main_worktree is not None:
        for folder in (git.main_worktree / start.relative_to(git.top), git.main_worktree):
            if (folder / CONFIG_NAME).is_file():
                return folder
    return None


def _database(folder: Path, settings: Settings, git: GitIdentity | None) -> Path:
    """One file per project: a linked worktree without its own file uses the main worktree's."""
    own = folder / settings.database.path
    if own.exists() or git is None or not git.is_linked_worktree or git.main_worktree is None:
        return own
    if git.top == folder or git.top in folder.parents:
        shared = git.main_worktree / folder.relative_to(git.top) / settings.database.path
        if shared.exists():
            return shared
    return own
