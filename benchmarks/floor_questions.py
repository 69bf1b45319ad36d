"""Questions with and without an answer, for :mod:`benchmarks.answer_floor`: which corpora are asked, and what.

Nothing here depends on a search. What is drawn is drawn with fixed seeds.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.judged_collection import Collection, Topic

SIZES = (20, 60, 200)
"""Documents of the small corpora that are drawn from each collection: where a new user begins."""
TOGETHER = ("scifact", "pubmedqa"), ("cacm", "standard_library")
"""Collections on one subject."""
HOLDS = {
    "csl": ("scifact", "pubmedqa", "cacm", "standard_library", "stard_positives"),
    "xquad_zh_en": ("scifact", "pubmedqa", "cacm", "csl"),
    "longmemeval_evidence": ("cacm", "standard_library", "xquad_zh_en"),
}
"""Collections that hold others' subjects: abstracts of all sciences, medicine, computing and law among them; articles of
an encyclopaedia, on complexity classes, immunity and geology too; conversations about anything, programming and general
knowledge included. What they are asked by those is reported as ``on_subject`` and not as off topic."""
ASKED_BY_ALL_SCIENCES = ("scifact", "pubmedqa", "cacm", "standard_library", "stard_positives", "xquad_zh_en")
"""Where the titles and keywords of csl may be on the subject."""
EVERYDAY = (
    "how do I bake sourdough bread", "best pizza in naples", "cheap flights to lisbon in may",
    "guitar chords for beginners", "what time does the post office close", "how to fold a fitted sheet",
    "how to remove a coffee stain from a carpet", "why does my washing machine smell", "今晚吃什么菜好", "怎么给猫洗澡",
    "附近的加油站在哪里", "红烧肉的做法步骤", "怎样种好阳台上的番茄", "周末去哪里爬山", "新手怎么学吉他", "洗衣机有异味怎么办",
)  # fmt: skip
TALKS_OF_ANYTHING = "longmemeval_evidence"
"""The collection that may well answer an everyday question."""
_WORDS = (
    "amber", "lattice", "quorum", "vellum", "sprocket", "marmalade", "yodel", "trellis", "gazebo", "walrus", "tango",
    "biscuit", "corduroy", "lagoon", "pretzel", "saxophone", "tuxedo", "accordion", "nougat", "igloo", "pelican", "zeppelin",
)  # fmt: skip
_CHARACTERS = (
    "的一是在不了有和人这中大为上个国我以要他时来用们生到作地于出就分对成会可主发年动同工也能下过子说产种面而方后多定行学法"
    "所民得经十三之进着等部度家电力里如水化高自二理起小物现实加量都两体制机当使点从业本去把性好应开它合还因由其些然前外天政四日"
)


@dataclass(frozen=True)
class Question:
    """One question and what is expected: ``own`` has an answer with these grades, all other kinds have none.

    ``near_miss`` is an own question whose relevant documents (``removed``) are taken out of what was found.
    """

    kind: str
    text: str
    grades: Mapping[str, int]
    removed: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Corpus:
    """Documents of one collection, or of a part of it, and the topics that they answer."""

    name: str
    collection: str
    is_whole: bool
    documents: Sequence[tuple[str, str, str]]
    topics: Sequence[Topic]


def corpora(collection: Collection) -> Iterator[Corpus]:
    """The collection, small samples of it, and, where its texts stand in two languages, each asked in the other."""
    yield Corpus(collection.name, collection.name, True, collection.documents, collection.topics)
    if collection.name == "xquad_zh_en":
        for of, asked in (("en", "zh"), ("zh", "en")):
            documents = [d for d in collection.documents if d[0].startswith(f"{of}-")]
            topics = [topic for topic in collection.topics if topic.id.startswith(asked)]
            name, judged = f"{asked} questions, {of} texts", _judged(topics, documents)
            yield Corpus(name, collection.name, True, documents, judged)
            for size in SIZES:
                yield _sample(Collection(collection.name, documents, judged), size, name)
    for size in SIZES:
        yield _sample(collection, size, collection.name)


def _sample(collection: Collection, size: int, of: str) -> Corpus:
    """``size`` documents, of which at most half are the answers of some topics."""
    draw = random.Random(size)
    topics: list[Topic] = []
    wanted: dict[str, None] = {}
    for topic in draw.sample(collection.topics, len(collection.topics)):
        relevant = [name for name, grade in topic.grades.items() if grade > 0 and name not in wanted]
        if len(wanted) + len(relevant) <= size // 2:
            topics.append(topic)
            wanted |= dict.fromkeys(relevant)
    rest = [document for document in collection.documents if document[0] not in wanted]
    documents = [d for d in collection.documents if d[0] in wanted] + draw.sample(rest, size - len(wanted))
    return Corpus(f"{of} {size}", collection.name, False, documents, _judged(topics, documents))


def _judged(topics: Sequence[Topic], documents: Sequence[tuple[str, str, str]]) -> list[Topic]:
    """The topics with what of their judgements is among the documents."""
    there = {document[0] for document in documents}
    return [Topic(t.text, {n: g for n, g in t.grades.items() if n in there}, t.id) for t in topics]


def questions(corpus: Corpus, collections: Sequence[Collection]) -> Iterator[Question]:
    """What a corpus is asked."""
    own = random.Random(4).sample(corpus.topics, min(250 if corpus.is_whole else 100, len(corpus.topics)))
    for topic in own:
        yield Question("own", topic.text, topic.grades)
    for topic in own:
        yield Question(
            "near_miss", topic.text, {}, frozenset(name for name, grade in topic.grades.items() if grade > 0)
        )
    for other in collections:
        if other.name != corpus.collection:
            kind = "on_subject" if _is_on_subject(other.name, corpus.collection) else "off_topic"
            for topic in random.Random(3).sample(other.topics, min(40 if corpus.is_whole else 12, len(other.topics))):
                yield Question(kind, topic.text, {})
    if corpus.collection != TALKS_OF_ANYTHING:
        for text in EVERYDAY:
            yield Question("off_topic", text, {})
    for text in nonsense(100 if corpus.is_whole else 40):
        yield Question("nonsense", text, {})


def _is_on_subject(asking: str, corpus: str) -> bool:
    return (
        any({asking, corpus} == set(pair) for pair in TOGETHER)
        or asking in HOLDS.get(corpus, ())
        or (asking == "csl" and corpus in ASKED_BY_ALL_SCIENCES)
    )


def nonsense(count: int) -> list[str]:
    """Made-up words, unrelated words, rare characters, typing, common characters: in turn."""
    draw = random.Random(5)

    def made_up() -> str:
        return "".join(draw.choice("bcdfghjklmnpqrstvwxz") + draw.choice("aeiou") for _ in range(draw.randint(2, 4)))

    kinds = (
        lambda: " ".join(made_up() for _ in range(draw.randint(2, 6))),
        lambda: " ".join(draw.sample(_WORDS, draw.randint(3, 6))),
        lambda: "".join(chr(draw.randint(0x4E00, 0x9FA5)) for _ in range(draw.randint(4, 12))),
        lambda: "asdf qwer " + "".join(draw.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(12)),
        lambda: "".join(draw.choice(_CHARACTERS) for _ in range(draw.randint(5, 12))),
    )
    return [kinds[number % len(kinds)]() for number in range(count)]
