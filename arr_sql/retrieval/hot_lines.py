"""The words of files' lines in memory, for a process that searches the same folders again and again. Derived and bounded.

A *word* is what white space ends in the folded text, so a text without white space is on a line exactly when it is part of
one of the line's words. Kept are each different word once, and for each the lines that have it: a search looks through the
words, which are a thirtieth of the text, and reads no file. Of each line it is known whether it bears a credential, and
which chunk holds it. A file is kept when all of its lines are held by chunks of what it was at its last sync; what is kept
speaks only of a file with the size, the times and the inode that it had then (:mod:`arr_sql.retrieval.hot_line_search`).

57 MB of text take 60 MB, and 0.1 s a megabyte to learn. Held by ``tests/retrieval/test_hot_lines.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING

from arr_sql.core.rooted import FileStat
from arr_sql.retrieval.line_spans import Place

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Lines = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class LearnedFile:
    """What was learned of one file: its folded lines, the numbers (from 1) of those with a credential, and for each line
    the row of the chunk that holds it, 0 where none has to. ``chunks`` are all rows of the file's chunks."""

    place: Place
    source_ref: str
    stat: FileStat
    lines: Sequence[str]
    secret: Iterable[int]
    held_by: Sequence[int]
    chunks: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class KnownFile:
    """A file that is kept. ``base`` is the number of its first line among all lines that are kept."""

    place: Place
    source_ref: str
    stat: FileStat
    base: int
    chunks: tuple[int, ...]


class _Vocabulary(dict[str, int]):
    """Each word's number; a new word gets the next one."""

    def __missing__(self, word: str) -> int:
        number = self[word] = len(self)
        return number


class _Words:
    """Words in one text, so that one search goes through all of them. ``numbers`` are theirs in the vocabulary."""

    def __init__(self, words: Sequence[str], numbers: Sequence[int]) -> None:
        import numpy as np

        self.text = "\n".join(["", *words, ""])
        self.ends = np.cumsum([len(word) + 1 for word in words])
        self.numbers = np.array(numbers, dtype=np.int32)

    def holding(self, part: str) -> NDArray[np.int32]:
        """The numbers of the words that hold ``part``."""
        import numpy as np

        find, text, places = self.text.find, self.text, []
        place = find(part)
        while place >= 0:
            places.append(place)
            # On with the next word: one that holds the part twice counts once.
            place = find(part, text.index("\n", place))
        return self.numbers[np.searchsorted(self.ends, places)]


@dataclass(frozen=True, slots=True)
class _Postings:
    """For each of ``words``, in ascending order, its lines: ``lines[starts[i]:starts[i + 1]]``, ascending."""

    words: NDArray[np.int32]
    starts: NDArray[np.int64]
    lines: Lines

    @classmethod
    def of(cls, words: NDArray[np.int32], lines: Lines) -> _Postings:
        """From pairs of a word and a line, in any order, some of them twice."""
        import numpy as np

        order = np.argsort(words, kind="stable")
        words, lines = words[order], lines[order]
        new = np.ones(len(words), dtype=bool)
        new[1:] = (words[1:] != words[:-1]) | (lines[1:] != lines[:-1])
        words, lines = words[new], lines[new]
        starts = np.flatnonzero(np.concatenate(([True], words[1:] != words[:-1]))) if len(words) else np.empty(0, int)
        return cls(words[starts], np.append(starts, len(words)), lines)

    def pairs(self) -> tuple[NDArray[np.int32], Lines]:
        """As they were given to :meth:`of`."""
        import numpy as np

        return np.repeat(self.words, np.diff(self.starts)), self.lines

    def of_words(self, words: NDArray[np.int32]) -> Lines:
        """The lines of all ``words``, which are in ascending order; a line may be named twice."""
        import numpy as np

        at = np.searchsorted(self.words, words)
        at = at[self.words[np.minimum(at, len(self.words) - 1)] == words]
        begins, counts = self.starts[at], self.starts[at + 1] - self.starts[at]
        before = np.cumsum(counts) - counts
        lines: Lines = self.lines[np.repeat(begins - before, counts) + np.arange(counts.sum())]
        return lines


@dataclass(frozen=True, eq=False)
class HotLines:
    """All that is kept of one scope, in one state; learning makes another one of it."""

    files: tuple[KnownFile, ...]
    number: dict[Place, int]
    """Where in ``files`` the present state of a file is; the states that it had before remain there, and are not asked."""
    bases: NDArray[np.int64]
    secret: NDArray[np.bool_]
    held_by: NDArray[np.int64]
    vocabulary: _Vocabulary
    words: tuple[_Words, ...]
    postings: tuple[_Postings, ...]
    n_bytes: int
    token: object = field(init=False, default_factory=object)
    """Another one for each state, so that what was derived from one is known to be of it without keeping it."""

    @classmethod
    def empty(cls) -> HotLines:
        """Nothing is known."""
        import numpy as np

        return cls((), {}, np.empty(0, np.int64), np.empty(0, bool), np.empty(0, np.int64), _Vocabulary(), (), (), 0)

    def with_text(self, part: str) -> Lines:
        """The lines that hold ``part``, which has no white space: each once, ascending."""
        import numpy as np

        found = [np.empty(0, np.int32)]
        holding = [words.holding(part) for words in self.words]
        numbers = np.sort(np.concatenate([np.empty(0, np.int32), *holding]))
        if len(numbers):
            found += [postings.of_words(numbers) for postings in self.postings]
        lines = np.sort(np.concatenate(found))  # NumPy's unique() hashes, which takes longer for so few
        return lines[np.append(True, lines[1:] != lines[:-1])] if len(lines) else lines

    def without(self, places: Iterable[Place]) -> HotLines:
        """The same without these files."""
        gone = set(places)
        return (
            replace(self, number={place: at for place, at in self.number.items() if place not in gone})
            if gone
            else self
        )

    @cached_property
    def ref_rank(self) -> NDArray[np.int64]:
        """For each of ``files`` where its source_ref stands in their order."""
        import numpy as np

        rank = {ref: at for at, ref in enumerate(sorted({file.source_ref for file in self.files}))}
        return np.array([rank[file.source_ref] for file in self.files], dtype=np.int64)

    def n_dead(self) -> int:
        """How many files are kept that are not asked any more."""
        return len(self.files) - len(self.number)

    def learn(self, learned: Sequence[LearnedFile]) -> HotLines:
        """With these files too. Call from one thread at a time: the vocabulary grows."""
        import numpy as np

        known, base = len(self.vocabulary), len(self.secret)
        numbers: list[int] = []
        counts: list[int] = []
        held_by: list[int] = []
        secret: list[int] = []
        files = []
        for file in learned:
            files.append(KnownFile(file.place, file.source_ref, file.stat, base + len(counts), file.chunks))
            secret.extend(base + len(counts) + number - 1 for number in file.secret)
            for line in file.lines:
                words = line.split()
                counts.append(len(words))
                numbers.extend(map(self.vocabulary.__getitem__, words))
            held_by.extend(file.held_by)
        lines = np.repeat(np.arange(base, base + len(counts), dtype=np.int32), counts)
        is_secret = np.concatenate([self.secret, np.zeros(len(counts), dtype=bool)])
        is_secret[secret] = True
        new = _words(list(islice(self.vocabulary, known, None)), known)
        postings = [_Postings.of(np.array(numbers, dtype=np.int32), lines)] if numbers else []
        every = (*self.files, *files)
        n_bytes = sum(map(_size, new)) + 9 * len(counts) + 4 * len(numbers)
        return HotLines(
            every, {**self.number, **{file.place: len(self.files) + at for at, file in enumerate(files)}},
            np.array([file.base for file in every], dtype=np.int64), is_secret,
            np.concatenate([self.held_by, np.array(held_by, dtype=np.int64)]), self.vocabulary, (*self.words, *new),
            tuple(_merged([*self.postings, *postings])), self.n_bytes + n_bytes,
        )  # fmt: skip


def _words(new: Sequence[str], first: int) -> list[_Words]:
    """New words in two texts: in one text a single letter of another script makes all letters take more room."""
    plain = [place for place, word in enumerate(new) if word.isascii()]
    others = [place for place, word in enumerate(new) if not word.isascii()]
    return [
        _Words([new[place] for place in places], [first + place for place in places])
        for places in (plain, others)
        if places
    ]


def _size(words: _Words) -> int:
    # Once in the text and once in the vocabulary, which takes about 120 bytes a word beside its letters.
    return 2 * len(words.text) * (1 if words.text.isascii() else 4) + 132 * len(words.numbers)


def _merged(postings: list[_Postings]) -> list[_Postings]:
    """Few parts, so that a search asks few: two are made one while the last is not much smaller than the one before."""
    import numpy as np

    while len(postings) > 1 and 2 * len(postings[-1].lines) >= len(postings[-2].lines):
        second, first = postings.pop().pairs(), postings.pop().pairs()
        pair = [np.concatenate(two) for two in zip(first, second, strict=True)]
        postings.append(_Postings.of(pair[0], pair[1]))
    return postings
