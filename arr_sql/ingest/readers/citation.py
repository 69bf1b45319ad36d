"""What people filter and cite by, under fixed keys whatever the format: :data:`CITATION_KEYS`.

``title`` and ``venue`` are text, ``authors`` a list of names as written, ``year`` a number, ``doi`` lower case without
``https://doi.org/``, ``arxiv_id`` without ``arXiv:`` and version, ``language`` a code such as ``en`` or ``zh``. A key
that isn't known is absent. Nothing is looked up anywhere: all of it stands in the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from .base import JSON, clip

CITATION_KEYS = ("title", "authors", "year", "doi", "arxiv_id", "language", "venue")

_TEXT_CHARS = 500
_MAX_AUTHORS = 200
_DOI = re.compile(r"\b10\.\d{4,9}/[^\s\"<>{}|\\^`\[\]]{1,200}", re.IGNORECASE)
_DOI_TAIL = ".,;:!?'’”)*_"
_ARXIV = re.compile(
    r"arxiv(?:\.org/(?:abs|pdf|html)/|\s*:\s*|\s+)(?P<id>\d{4}\.\d{4,5}|[a-z-]{2,12}(?:\.[A-Z]{2})?/\d{7})(?!\d)",
    re.IGNORECASE,
)
_ARXIV_DOI = re.compile(r"10\.48550/arxiv\.(?P<id>\d{4}\.\d{4,5}|[a-z-]+/\d{7})", re.IGNORECASE)
_ARXIV_ALONE = re.compile(
    r"\s*(?:arxiv:)?(?P<id>\d{4}\.\d{4,5}|[a-z-]{2,12}(?:\.[A-Z]{2})?/\d{7})(?:v\d+)?\s*", re.IGNORECASE
)
_YEAR = re.compile(r"(?<!\d)(1[5-9]\d\d|20\d\d)(?!\d|\.\d)")
_LANGUAGES = {
    "english": "en", "american": "en", "british": "en", "chinese": "zh", "german": "de", "ngerman": "de", "french": "fr",
    "francais": "fr", "spanish": "es", "japanese": "ja", "korean": "ko", "russian": "ru", "italian": "it",
    "portuguese": "pt", "中文": "zh", "汉语": "zh", "eng": "en", "chi": "zh", "zho": "zh", "ger": "de", "deu": "de",
    "fre": "fr", "fra": "fr", "jpn": "ja", "kor": "ko", "rus": "ru", "spa": "es",
}  # fmt: skip
_CODE = re.compile(r"[a-zA-Z]{2,3}(?:[-_][A-Za-z0-9]{2,8})*")
_FRONT_KEYS = {
    "title": ("title",), "authors": ("authors", "author"), "year": ("year", "date", "published"), "doi": ("doi",),
    "arxiv_id": ("arxiv_id", "arxiv", "eprint"), "language": ("language", "lang"),
    "venue": ("venue", "journal", "booktitle", "container-title", "publication", "conference"),
}  # fmt: skip


def citation(
    *,
    title: str = "",
    authors: Iterable[str] = (),
    year: str | int = "",
    doi: str = "",
    arxiv_id: str = "",
    language: str = "",
    venue: str = "",
) -> dict[str, JSON]:
    """The known ones of the fixed keys, normalised. Every argument may be empty, and what is no year is no year."""
    names = [clip(name, 160) for name in authors if name.strip()][:_MAX_AUTHORS]
    found: dict[str, JSON] = {
        "title": clip(title, _TEXT_CHARS), "authors": [*names], "year": find_year(str(year)), "doi": find_doi(doi),
        "arxiv_id": arxiv_id_of(arxiv_id) or arxiv_of_doi(doi), "language": language_code(language),
        "venue": clip(venue, _TEXT_CHARS),
    }  # fmt: skip
    return {key: value for key, value in found.items() if value}


def from_front_matter(values: Mapping[str, JSON]) -> dict[str, JSON]:
    """The fixed keys out of a front matter's own names for them (``author``, ``date``, ``lang``, ``journal``)."""
    lower = {key.lower(): value for key, value in values.items()}

    def first(key: str) -> JSON:
        return next((lower[name] for name in _FRONT_KEYS[key] if lower.get(name)), "")

    def text(key: str) -> str:
        value = first(key)
        return value if isinstance(value, str) else str(value) if isinstance(value, int) else ""

    authors = first("authors")
    names = (
        [item for item in authors if isinstance(item, str)]
        if isinstance(authors, list)
        else split_names(text("authors"))
    )
    return citation(
        title=text("title"), authors=names, year=text("year"), doi=text("doi"), arxiv_id=text("arxiv_id"),
        language=text("language"), venue=text("venue"),
    )  # fmt: skip


def split_names(text: str) -> list[str]:
    """``A and B``, ``A; B`` or ``A, B and C`` as a list. ``Last, First`` alone stays one name."""
    text = " ".join(text[:20_000].split())
    if ";" in text:
        return [name.strip() for name in text.split(";") if name.strip()]
    parts = [part.strip() for part in re.split(r"\s+and\s+|\s+&\s+|、", text) if part.strip()]
    commas = [part for part in text.split(",") if part.strip()]
    if len(commas) > 1 and all(" " in name.strip() for name in commas):
        return [name.strip() for part in parts for name in part.split(",") if name.strip()]
    return parts


def find_doi(text: str) -> str:
    """The first DOI in ``text``, lower case, or an empty string."""
    match = _DOI.search(text)
    if match is None:
        return ""
    doi = match[0].lower().rstrip(_DOI_TAIL)
    if doi.count("(") > doi.count(")") and match[0][len(doi) : len(doi) + 1] == ")":
        doi += ")"  # 10.1016/0092-8674(75)
    return doi


def find_arxiv(text: str) -> str:
    """The first arXiv identifier that is named as one, without its version."""
    match = _ARXIV.search(text) or _ARXIV_DOI.search(text)
    return match["id"] if match else ""


def arxiv_id_of(text: str) -> str:
    """The arXiv identifier that a field of that name holds, or that ``text`` names."""
    match = _ARXIV_ALONE.fullmatch(text)
    return match["id"] if match else find_arxiv(text)


def arxiv_of_doi(doi: str) -> str:
    """arXiv's own DOIs name the identifier."""
    match = _ARXIV_DOI.search(doi)
    return match["id"] if match else ""


def find_year(text: str) -> int:
    """The first number from 1500 to 2099, or 0."""
    match = _YEAR.search(text[:1000])
    return int(match[1]) if match else 0


def language_code(text: str) -> str:
    """``en``, ``zh-CN``: a code as given, or the code of a language named in words; empty for anything else."""
    text = text.strip()
    known = _LANGUAGES.get(text.lower())
    if known:
        return known
    return text.replace("_", "-") if _CODE.fullmatch(text) and len(text) <= 12 else ""
