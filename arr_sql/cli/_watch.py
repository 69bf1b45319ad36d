"""``arr sync --watch``: sync whenever the added folders change, until Ctrl-C. On watchfiles (the extra ``watch``)."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from arr_sql.cli._shared import note

if TYPE_CHECKING:
    from arr_sql.ingest.roots import RootRow

DEBOUNCE_MS = 1_600
"""Changes are gathered until they pause for STEP_MS, at most so long."""
STEP_MS = 300


def require_watcher() -> None:
    """Raises InputError with the next step when the extra is missing."""
    from arr_sql.errors import InputError

    if importlib.util.find_spec("watchfiles") is None:
        raise InputError(
            "Watching needs the extra `watch`: pip install 'arr-sql[watch]'. Without it, run `arr sync` when files have changed."
        )


def watch(roots: Sequence[RootRow], database: Path, sync: Callable[[], None]) -> None:
    """Call ``sync`` once and then after each change, until Ctrl-C.

    Raises StateError when there is no folder to watch or the system has no watcher left.
    """
    require_watcher()
    try:
        for number, _ in enumerate(_changes(roots, database)):
            sync()
            if number == 0:
                note("Watching. Ctrl-C ends it.")
    except KeyboardInterrupt:
        pass
    note("Stopped watching. What was taken in is kept.")


def _changes(roots: Sequence[RootRow], database: Path) -> Iterator[object]:
    """One item at once, when the system has begun to watch, and one for each burst of changes after that.

    What happens during a sync is the next item, so no change falls between two.
    """
    import watchfiles

    from arr_sql.errors import StateError

    here = [root for root in roots if root.path.is_dir()]
    if not here:
        raise StateError("None of the added folders is there now. `arr status` lists them.")
    try:
        bursts = watchfiles.watch(
            *dict.fromkeys(root.path.resolve() for root in here),
            watch_filter=lambda _, path: is_relevant(path, here, database), debounce=DEBOUNCE_MS, step=STEP_MS,
            recursive=any(root.only_file is None for root in here), raise_interrupt=True, yield_on_timeout=True,
            rust_timeout=500,
        )  # fmt: skip
        is_first = True
        for burst in bursts:
            if burst or is_first:
                yield burst
            is_first = False
    except (OSError, RuntimeError) as error:
        raise StateError(
            f"The system can't watch these folders: {error}. Raise its limit (Linux: fs.inotify.max_user_watches), set "
            "WATCHFILES_FORCE_POLLING=1, or run `arr sync` from a timer."
        ) from None


def is_relevant(path: str, roots: Sequence[RootRow], database: Path) -> bool:
    """May a sync see this change? Not in folders of tools, and not the database, which every sync itself changes."""
    from arr_sql.core.ignore import TOOL_FOLDERS

    changed, store = Path(path), database.resolve()
    if changed.parent == store.parent and changed.name.startswith(store.name):
        return False
    for root in roots:
        folder = root.path.resolve()
        if changed == folder or folder in changed.parents:
            parts = changed.relative_to(folder).parts
            if root.only_file is not None:
                if parts == (root.only_file,):
                    return True
            elif TOOL_FOLDERS.isdisjoint(parts):
                return True
    return False
