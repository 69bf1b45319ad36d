"""The words of a question that none of its evidence holds. Pure; for showing, never for ranking.

The best of what a store holds can be near a question and no answer to it: no score tells "how was it quantised to int8"
from the passage about quantiles that lies nearest. What can be told without a reader is which words of the question stand
in no text that was returned, and that is what a person or an agent looks at before they believe an answer.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from arr_sql.core import analysis_terms as cut
from arr_sql.core.analysis import joined_terms, query_terms
from arr_sql.core.analysis_fold import prepare
from arr_sql.core.analysis_words import STOP_CHARACTERS
from arr_sql.core.later import pattern
from arr_sql.core.scripts import are_foreign, unspaced_share

if TYPE_CHECKING:
    from arr_sql.core.research_models import EvidenceChunk

NAME_HELD = 0.45
"""The share of a name's terms, by weight, that a text must hold to hold the name: ``batchSize`` is held where ``batch_size``
stands, ``E-4013`` is not where ``E-4012`` does (:attr:`arr_sql.retrieval.answer_floor.AnswerFloor.name_covered`)."""

_ASKING = frozenset({"many", "much", "often", "long"})
_ASKING_RUN = pattern("多少|多久|多长|如何|为何|是否|怎样|请问")
"""Ways to ask that are no little words to the index, yet nobody misses them in a text: ``how many``."""


class EvidenceText(NamedTuple):
    """What is read of one piece of evidence."""

    heading: str
    content: str
    source_ref: str


def missing_words(query: str, evidence: Iterable[EvidenceChunk]) -> tuple[str, ...]:
    """Return the words of ``query`` that no piece of ``evidence`` holds, as written, each once, in order.

    Little words are not counted. A name is held where most of its parts are. Of a run of Chinese, Japanese or the like,
    what no pair of neighbouring characters covers is missing. Texts in another script than a word can't be expected to hold
    it: where there are no others, nothing is said of the word. Nothing is said either where there is no evidence.
    """
    return words_missing(query, [_text_of(item.metadata, item.content, item.source_ref) for item in evidence])


def words_missing(query: str, evidence: Sequence[EvidenceText]) -> tuple[str, ...]:
    """Return the same as :func:`missing_words` of the texts alone."""
    texts = [_Text(text) for text in evidence]
    wanted = query_terms(query)
    found: dict[str, str] = {}
    for chunk in cut.chunks(prepare(query)):
        script = unspaced_share(chunk)
        near = [text.terms for text in texts if not are_foreign(script, text.script)]
        if near:
            for word in _missing(chunk, wanted, near):
                found.setdefault(word.casefold(), word)
    return tuple(found.values())


class _Text:
    """The terms of one piece of evidence, and what script it is written in."""

    def __init__(self, text: EvidenceText) -> None:
        self.terms = frozenset(joined_terms("\n".join(text))[0].split(" "))
        self.script = unspaced_share(text.content)


def _text_of(metadata: Mapping[str, Any], content: str, source_ref: str) -> EvidenceText:
    """A chunk has a heading, a memory a title."""
    return EvidenceText(str(metadata.get("heading") or metadata.get("title") or ""), content, source_ref)


def _missing(chunk: str, wanted: Collection[str], texts: list[frozenset[str]]) -> Iterator[str]:
    if not chunk.isascii() and cut.is_unspaced(chunk):
        yield from _missing_in_run("".join(chunk.split()), texts)
        return
    terms = {term: weight for term, weight in query_terms(chunk).items() if term in wanted}
    if not terms or chunk.casefold() in _ASKING:
        return
    most = max(sum(weight for term, weight in terms.items() if term in held) for held in texts) / sum(terms.values())
    if most < NAME_HELD if cut.is_name(chunk) else not most:
        yield chunk


def _missing_in_run(run: str, texts: list[frozenset[str]]) -> Iterator[str]:
    """The longest pieces of a run that no held pair covers, cut at particles and pronouns."""
    if len(run) == 1:
        yield from run if run not in STOP_CHARACTERS and not any(run in held for held in texts) else ()
        return
    folded = [prepare(character).casefold() for character in run]
    covered = [False] * len(run)
    for asking in _ASKING_RUN.finditer(run):
        covered[slice(*asking.span())] = [True] * len(asking[0])
    for place in range(len(run) - 1):
        if any(folded[place] + folded[place + 1] in held for held in texts):
            covered[place] = covered[place + 1] = True
    piece = ""
    for character, is_covered in zip(run + " ", [*covered, True], strict=True):
        if not is_covered and character not in STOP_CHARACTERS:
            piece += character
            continue
        if len(piece) > 1:  # a character that is left over between two words is no word
            yield piece
        piece = ""
