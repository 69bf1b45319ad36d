"""What a line search is given and what it answers: the values of :mod:`arr_sql.retrieval.line_search`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from arr_sql.core.rooted import FileRead, Root
from arr_sql.core.walk import FolderMemory, Found
from arr_sql.retrieval.line_index import LineIndex

CLIP_WIDTH = 300
MAX_FILES = 20_000
MAX_BYTES = 256 << 20
MAX_FILE_BYTES = 8 << 20
MAX_RESULTS = 200
MAX_LISTED = 200  # rows of `left_out`; `skipped` counts all of them
NEIGHBOURHOOD = 8_192
"""A credential further than this from the hit cannot be in the part of a long line that is shown."""
MAX_WHOLE_LINE = 2 * NEIGHBOURHOOD
"""So much of a line is looked at for a credential, wherever the hit is in it."""


@dataclass(frozen=True, slots=True)
class LineHit:
    """One line. ``line_no`` and ``column`` count from 1; ``text`` starts at index ``offset`` of the whole line, whose
    length is ``true_length`` characters. ``needles`` are those that the line holds, in the order they were given."""

    root_name: str
    rel: str
    line_no: int
    text: str
    true_length: int
    clipped: bool
    needles: tuple[str, ...]
    column: int
    offset: int = 0


@dataclass(slots=True)
class LineSearch:
    """What was found and what was not looked at.

    ``scanned_files`` counts the files that are answered for: ``ruled_out`` of them were not opened, because the line
    index knows them as they are, and ``changed`` were read because it does not. ``damaged`` rows of it were left aside.
    ``scanned_bytes`` are those of the files that were read or taken from memory. ``cut`` is None, ``max_files``,
    ``max_bytes``, ``max_results``, ``max_depth`` or ``deadline``. ``left_out`` names the first files of ``skipped`` as
    (root, path, reason), without those that ignore rules and tool folders leave out. ``files`` are those with hits: by
    (root, path) the size and the mtime_ns that they had when they were read.
    """

    hits: list[LineHit] = field(default_factory=list)
    scanned_files: int = 0
    scanned_bytes: int = 0
    withheld: int = 0
    skipped: dict[str, int] = field(default_factory=dict)
    cut: str | None = None
    left_out: list[tuple[str, str, str]] = field(default_factory=list)
    files: dict[tuple[str, str], tuple[int, int]] = field(default_factory=dict)
    indexed: bool = False
    ruled_out: int = 0
    changed: int = 0
    damaged: int = 0


@dataclass(frozen=True, slots=True)
class Target:
    """What is searched of one root: all of it, a ``folder`` in it, or one ``file``; with its line index, if it has one."""

    name: str
    root: Root
    folder: str = ""
    file: str | None = None
    index: LineIndex | None = None


@dataclass(frozen=True, slots=True)
class SearchLimits:
    """What bounds one search."""

    max_files: int = MAX_FILES
    max_bytes: int = MAX_BYTES
    max_results: int = MAX_RESULTS
    max_file_bytes: int = MAX_FILE_BYTES


class Passed(NamedTuple):
    """Files that were passed over together: how many, their size, their lines that are hits, and those withheld."""

    n_files: int
    n_bytes: int
    n_hits: int
    n_withheld: int


class LineMemory(Protocol):
    """Lines of files that need not be read again."""

    def begin(self, *, by_folder: bool) -> None:
        """A search begins, perhaps anew. ``by_folder``: files may be passed over in the walk, a folder's together."""

    def folders(self, root_name: str, root: Root, limits: SearchLimits) -> FolderMemory | None:
        """For the walk through a root that has no line index."""

    def passed_over(self) -> Passed:
        """The files that walks did not name since this was asked last, because all that matters of them is known."""

    def take(self, root_name: str, file: Found, room: int) -> tuple[int, int, bool] | None:
        """How many lines of a file that is as it was are hits, and how many are withheld; None when it is to be read.

        At most ``room`` hits: the last value says whether there are more, and then those withheld after them don't count.
        """

    def note(self, root_name: str, file: Found, read: FileRead, text: str) -> None:
        """A file was read."""
