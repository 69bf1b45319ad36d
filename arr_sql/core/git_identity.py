"""Which repository and branch is a folder's work tree? Read from git's own files; git is never run.

Running git inside a folder that somebody else wrote can run commands that the folder's configuration names
(``core.fsmonitor``, filters). Reading ``HEAD``, ``config`` and the refs cannot. Tested against real git in
tests/core/test_git_identity.py: linked worktrees, detached HEAD, no remote, unborn branch, packed refs.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

_SHA = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")
_SECTION = re.compile(r'\[\s*([A-Za-z0-9.-]+)(?:\s+"((?:[^"\\]|\\.)*)")?\s*\]')


class GitIdentity(NamedTuple):
    """What git's files say about one work tree."""

    top: Path
    common_dir: Path
    repository: str
    branch: str
    commit: str | None
    is_detached: bool
    has_remote: bool
    is_linked_worktree: bool

    @property
    def main_worktree(self) -> Path | None:
        """The work tree that owns the repository, for a linked one; None for a bare repository."""
        return self.common_dir.parent if self.common_dir.name == ".git" else None


def read_git_identity(folder: Path) -> GitIdentity | None:
    """The identity of the work tree that holds ``folder``, or None when there is none or its files can't be read."""
    try:
        start = folder.resolve()
        for top in (start, *start.parents):
            if (git_dir := _git_dir(top)) is not None:
                return _identity(top, git_dir)
    except OSError:
        return None
    return None


def _git_dir(top: Path) -> Path | None:
    entry = top / ".git"
    if entry.is_dir():
        return entry if (entry / "HEAD").is_file() else None
    if not entry.is_file():
        return None
    text = _read(entry)
    if not text.startswith("gitdir:"):
        return None
    git_dir = (top / text.removeprefix("gitdir:").strip()).resolve()
    return git_dir if (git_dir / "HEAD").is_file() else None


def _identity(top: Path, git_dir: Path) -> GitIdentity:
    common = git_dir
    if (git_dir / "commondir").is_file():
        common = (git_dir / _read(git_dir / "commondir").strip()).resolve()
    head = _read(git_dir / "HEAD").strip()
    if head.startswith("ref:"):
        ref = head.removeprefix("ref:").strip()
        branch, commit, detached = ref.removeprefix("refs/heads/"), _resolve(ref, git_dir, common), False
    else:
        commit, detached = (head if _SHA.fullmatch(head) else None), True
        branch = f"detached-{head[:12]}"
    remote = _remote_url(common)
    name = common.parent.name if common.name == ".git" else common.name.removesuffix(".git")
    return GitIdentity(
        top=top,
        common_dir=common,
        repository=(remote and repository_name(remote)) or name or top.name or "repository",
        branch=branch,
        commit=commit,
        is_detached=detached,
        has_remote=remote is not None,
        is_linked_worktree=common != git_dir,
    )


def repository_name(url: str) -> str:
    """``host/owner/name`` of a remote's URL, without user, password, port or ``.git``; "" when nothing remains."""
    url = url.strip()
    scp = re.fullmatch(r"(?:[^@/\s]+@)?([^:/\s]+):(?!//)(.+)", url)
    if "://" in url:
        parts = urlsplit(url)
        host, path = parts.hostname or "", parts.path
    elif scp and not re.fullmatch(r"[A-Za-z]", scp.group(1)):  # not C:\repo
        host, path = scp.group(1).lower(), scp.group(2)
    else:
        host, path = "", Path(url.replace("\\", "/")).name
    path = path.strip("/").removesuffix(".git").strip("/")
    return "/".join(part for part in (host, path) if part)


def _resolve(ref: str, git_dir: Path, common: Path) -> str | None:
    for base in (git_dir, common):
        if (base / ref).is_file():
            sha = _read(base / ref).strip()
            return sha if _SHA.fullmatch(sha) else None
    packed = common / "packed-refs"
    if packed.is_file():
        for line in _read(packed).splitlines():
            sha, _, name = line.partition(" ")
            if name == ref and _SHA.fullmatch(sha):
                return sha
    return None


def _remote_url(common: Path) -> str | None:
    """``origin``'s URL, else the first remote's."""
    config = common / "config"
    if not config.is_file():
        return None
    urls: dict[str, str] = {}
    remote: str | None = None
    for line in _read(config).splitlines():
        line = line.strip()
        if section := _SECTION.match(line):
            remote = section.group(2) if section.group(1).lower() == "remote" else None
            line = line[section.end() :].strip()  # git allows a key on the same line
        if remote is not None and (pair := re.fullmatch(r"url\s*=\s*(.+)", line, re.IGNORECASE)):
            urls.setdefault(remote, _config_value(pair.group(1)))
    return urls.get("origin") or next(iter(urls.values()), None)


def _config_value(text: str) -> str:
    """A value of git's config file: quotes taken off, and what follows an unquoted ``#`` or ``;`` left out."""
    value, is_quoted, characters = "", False, iter(text)
    for character in characters:
        if character == "\\":
            value += next(characters, "")
        elif character == '"':
            is_quoted = not is_quoted
        elif character in "#;" and not is_quoted:
            break
        else:
            value += character
    return value.strip()


def _read(path: Path) -> str:
    with path.open("rb") as handle:
        return handle.read(8 << 20).decode("utf-8", "replace")
