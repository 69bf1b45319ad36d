"""Text to token ids for multilingual-e5-small: normalise, split into words, best unigram segmentation of each.

The segmentation is the unigram language model of Kudo (2018, arXiv:1804.10959): of all ways to cut a word into
pieces, the one whose log-probabilities sum highest. No piece of the vocabulary crosses a space, so words can be
cut one by one, which makes the time linear in the text and lets frequent words be remembered.

Normalisation is NFKC of Unicode 3.2 and then the model's own map. The old version is meant: every Python has it,
so vectors do not change with the Python version, and what is newer is in the model's map or unknown to the model.
``tests/index/test_e5_tokenizer.py`` compares ids with those of an independent implementation.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator
from unicodedata import ucd_3_2_0

import numpy as np

from arr_sql.errors import ModelError
from arr_sql.index.embedders.e5_file import E5File, Vocabulary

#: Part of the spec: change it with any change to ``normalise`` or to the segmentation.
NORMALISER = "e5: NFKC 3.2, code point map, spaces to U+2581, unigram; version 1"

SPACE_MARK = "\u2581"
_UNKNOWN_PENALTY = 10.0
_LINE_FEED = 10
_LONE_SURROGATES = re.compile("[\ud800-\udfff]")
_SPACES = re.compile(" {2,}")
_WORDS = re.compile(f"{SPACE_MARK}?[^{SPACE_MARK}]+|{SPACE_MARK}")
#: The model's map keeps the fullwidth tilde, and Unicode 3.2 maps five ideographs wrongly (Corrigendum 4).
_KEPT_FROM_NFKC = re.compile("([\uff5e\U0002f868\U0002f874\U0002f91f\U0002f95f\U0002f9bf]+)")

_REMEMBERED_WORDS = 20_000
_REMEMBERED_LENGTH = 24


class E5Tokenizer:
    """Tokenizer over the vocabulary of an ``E5File``. Safe to share between threads.

    Raises ModelError when the vocabulary is damaged.
    """

    def __init__(self, file: E5File) -> None:
        pieces, self._longest = _pieces(file.vocabulary, str(file.path))
        self.bos = file.vocabulary.bos
        self.eos = file.vocabulary.eos
        self._unknown = file.vocabulary.unk
        self._ids = dict(zip(reversed(pieces), range(len(pieces) - 1, -1, -1), strict=True))
        self._ids.pop("", None)
        self._ids.pop(pieces[self._unknown], None)
        scores = np.frombuffer(file.vocabulary.scores, "<f4")
        if not bool(np.isfinite(scores).all()):
            raise ModelError(f"Model file '{file.path}' is damaged: a piece score is not a finite number.")
        self._scores = array("f", scores.tolist())
        self._unknown_score = min(self._scores) - _UNKNOWN_PENALTY
        # NUL is not in the model's map: it goes the way of the other control characters.
        self._replacements: dict[int, str] = {0: "", **file.replacements}
        self._remembered: dict[str, tuple[int, ...]] = {}

    def normalise(self, text: str) -> str:
        """``text`` as the vocabulary sees it: U+2581 for each space, one in front, no runs of spaces."""
        text = _LONE_SURROGATES.sub("\ufffd", text)
        if not text.isascii():
            text = _nfkc(text)
        text = _SPACES.sub(" ", text.translate(self._replacements))
        if not text.startswith(" "):
            text = " " + text
        return text.replace(" ", SPACE_MARK)

    def encode(self, text: str) -> list[int]:
        """Ids of ``text`` without the special tokens; never empty. Time is linear in the length of ``text``."""
        ids: list[int] = []
        for word in _WORDS.findall(self.normalise(text)):
            known = self._remembered.get(word)
            if known is None:
                known = self._segment(word)
                if len(word) <= _REMEMBERED_LENGTH and len(self._remembered) < _REMEMBERED_WORDS:
                    self._remembered[word] = known
            ids.extend(known)
        return ids

    def _segment(self, word: str) -> tuple[int, ...]:
        """The best segmentation of one word (Viterbi). Of equal sums the longest last piece wins."""
        size = len(word)
        best = [float("-inf")] * (size + 1)
        best[0] = 0.0
        start_of = [0] * (size + 1)
        id_of = [self._unknown] * (size + 1)
        ids, scores, longest = self._ids, self._scores, self._longest
        for start, first in enumerate(word):
            so_far = best[start]
            for end in range(start + 1, min(size, start + longest.get(first, 0)) + 1):
                piece = ids.get(word[start:end])
                if piece is not None and so_far + scores[piece] > best[end]:
                    best[end] = so_far + scores[piece]
                    start_of[end], id_of[end] = start, piece
            if so_far + self._unknown_score > best[start + 1]:
                best[start + 1] = so_far + self._unknown_score
                start_of[start + 1], id_of[start + 1] = start, self._unknown
        return tuple(reversed(list(_walk_back(start_of, id_of))))


def _walk_back(start_of: list[int], id_of: list[int]) -> Iterator[int]:
    end = len(start_of) - 1
    while end > 0:
        yield id_of[end]
        end = start_of[end]


def _nfkc(text: str) -> str:
    parts = _KEPT_FROM_NFKC.split(text)
    parts[::2] = [ucd_3_2_0.normalize("NFKC", part) for part in parts[::2]]
    return "".join(parts)


def _pieces(vocabulary: Vocabulary, name: str) -> tuple[list[str], dict[str, int]]:
    """All pieces as text, and how far the search must look: the longest piece that begins with each character.

    The pieces are decoded in one go with line feeds between them: five times as fast as one by one.
    """
    offsets = np.frombuffer(vocabulary.offsets, "<u4").astype(np.int64)
    blob = np.frombuffer(vocabulary.blob, np.uint8)
    if offsets[0] != 0 or offsets[-1] != blob.size or bool(np.any(np.diff(offsets) < 0)):
        raise ModelError(f"Model file '{name}' is damaged: the piece offsets do not ascend to the end of the pieces.")
    try:
        text = np.insert(blob, offsets[1:-1], _LINE_FEED).tobytes().decode("utf-8") + "\n"
    except UnicodeDecodeError as error:
        raise ModelError(f"Model file '{name}' is damaged: a piece is not UTF-8.") from error
    pieces = text.split("\n")[:-1]
    if len(pieces) != vocabulary.count:
        raise ModelError(f"Model file '{name}' is damaged: a piece has a line feed.")
    characters = np.frombuffer(text.encode("utf-32-le"), "<u4")
    ends = np.flatnonzero(characters == _LINE_FEED)
    starts = np.concatenate([[0], ends[:-1] + 1])
    by_length = np.argsort(ends - starts, kind="stable")
    firsts = map(chr, characters[starts[by_length]].tolist())
    return pieces, dict(zip(firsts, (ends - starts)[by_length].tolist(), strict=True))
