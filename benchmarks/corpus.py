"""Corpora of any size that behave like real text: the words, their frequencies and their neighbours come from real text.

A text is a walk over the word pairs of a source (the standard library's docstrings and this repository's own Chinese
pages, or any folder given), with leaps to words drawn by frequency, and a few rare words of its own that it repeats, as
real texts do. So document frequencies follow Zipf's law, common words are in most chunks and rare ones come in bursts.
Words beyond the source's vocabulary are made by joining two of its words, a new one every few hundred words (Heaps' law).
"""

from __future__ import annotations

import ast
import bisect
import itertools
import random
import re
import sysconfig
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parents[1]
_ENGLISH = re.compile(r"[A-Za-z_][A-Za-z_0-9.]*[A-Za-z0-9]|[A-Za-z]")
_CHINESE = re.compile(r"[\u4e00-\u9fff]{2,}")


def english_text(limit: int = 6_000_000) -> str:
    """Docstrings and comments of the standard library, about a million words."""
    parts: list[str] = []
    size = 0
    for path in sorted(Path(sysconfig.get_paths()["stdlib"]).rglob("*.py")):
        if "site-packages" in path.parts or "test" in path.parts:
            continue
        try:
            tree = ast.parse(path.read_text("utf-8"))
        except (SyntaxError, UnicodeDecodeError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                text = ast.get_docstring(node)
                if text:
                    parts.append(text)
                    size += len(text)
        if size > limit:
            break
    return "\n".join(parts)


def chinese_text() -> str:
    """The Chinese of this repository."""
    return "\n".join(
        path.read_text("utf-8") for path in [HERE / "README.zh-CN.md", *sorted((HERE / "data").rglob("*.md"))]
    )


@dataclass
class Language:
    """Words with cumulated frequencies, and for each word those that follow it in the source."""

    words: list[str]
    cumulated: list[int]
    followers: dict[str, list[str]]

    @classmethod
    def of(cls, text: str, pattern: re.Pattern[str]) -> Language:
        """Learn from ``text``."""
        stream = pattern.findall(text)
        counted = Counter(stream).most_common()
        followers: dict[str, list[str]] = {}
        for first, second in itertools.pairwise(stream):
            followers.setdefault(first, []).append(second)
        return cls([w for w, _ in counted], list(itertools.accumulate(n for _, n in counted)), followers)

    def draw(self, rng: random.Random) -> str:
        """A word by its frequency."""
        return self.words[bisect.bisect_right(self.cumulated, rng.randrange(self.cumulated[-1]))]

    def rare(self, rng: random.Random) -> str:
        """A word out of the rarer nine tenths of the vocabulary; now and then one made of two."""
        tail = len(self.words) // 10
        word = self.words[rng.randrange(tail, len(self.words))]
        if rng.random() < 0.3:
            word += "_" + self.words[rng.randrange(tail, len(self.words))]
        return word


class Corpus:
    """Texts and questions, all decided by ``seed``. ``chinese`` is the share of Chinese texts."""

    def __init__(self, seed: int = 1, *, chinese: float = 0.0, english: str | None = None) -> None:
        self._rng = random.Random(seed)
        self._english = Language.of(english if english is not None else english_text(), _ENGLISH)
        self._chinese = Language.of(chinese_text(), _CHINESE) if chinese else None
        self._share = chinese

    def text(self) -> tuple[str, str]:
        """A heading of three words and a body of about 80 words in lines."""
        rng = self._rng
        is_chinese = self._chinese is not None and rng.random() < self._share
        language = self._chinese if is_chinese and self._chinese is not None else self._english
        own = [language.rare(rng) for _ in range(4)]
        words: list[str] = []
        current = language.draw(rng)
        for _ in range(max(8, int(rng.lognormvariate(4.3, 0.5)))):
            chance = rng.random()
            if chance < 0.06:
                current = rng.choice(own)
            elif chance < 0.3 or current not in language.followers:
                current = language.draw(rng)
            else:
                current = rng.choice(language.followers[current])
            words.append(current)
        joiner = "，" if is_chinese else " "
        lines = [joiner.join(words[at : at + 14]) for at in range(0, len(words), 14)]
        return " ".join([*own[:2], language.draw(rng)]), "\n".join(lines)

    def question(self, words: int = 8) -> str:
        """A question of ``words`` different English words: a third of them rare, as in questions about something."""
        rng, found = self._rng, dict[str, None]()
        while len(found) < words:
            word = self._english.rare(rng) if len(found) % 3 == 2 else self._english.draw(rng)
            if "_" not in word and "." not in word and len(word) > 2:
                found[word.lower()] = None
        return " ".join(found)

    def markdown(self, sections: int) -> str:
        """A Markdown file of so many sections, each of which becomes one chunk."""
        return "\n".join(f"## {heading}\n\n{body}\n" for heading, body in (self.text() for _ in range(sections)))


def write_markdown(folder: Path, chunks: int, corpus: Corpus, per_file: int = 25) -> None:
    """Write about ``chunks`` sections as files of ``per_file`` sections each."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, left in enumerate(range(chunks, 0, -per_file)):
        (folder / f"{number:06}.md").write_text(corpus.markdown(min(per_file, left)), "utf-8")


def texts(corpus: Corpus, count: int) -> Iterator[tuple[str, str]]:
    """``count`` headings with bodies."""
    return (corpus.text() for _ in range(count))
