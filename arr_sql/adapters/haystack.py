"""A Haystack component (``haystack-ai``): ``ArrRetriever("my-project").run(query="question")["documents"]``."""

from __future__ import annotations

from typing import Any

from haystack import Document, component, default_from_dict, default_to_dict

from arr_sql.adapters import ask, metadata, score


@component
class ArrRetriever:
    """Evidence as documents with scores."""

    def __init__(
        self, folder: str = ".", *, top_k: int = 10, environment: str | None = None, branch: str | None = None
    ) -> None:
        self.folder, self.top_k, self.environment, self.branch = folder, top_k, environment, branch

    @component.output_types(documents=list[Document])
    def run(self, query: str, top_k: int | None = None) -> dict[str, list[Document]]:
        """``documents`` for ``query``, best first; ``top_k`` for this call alone."""
        result = ask(self.folder, query, top_k or self.top_k, self.environment, self.branch)
        documents = [
            Document(id=item.chunk_id, content=item.content, meta=metadata(result, item), score=score(item))
            for item in result.evidence
        ]
        return {"documents": documents}

    def to_dict(self) -> dict[str, Any]:
        """For saving a pipeline."""
        values = {"folder": self.folder, "top_k": self.top_k, "environment": self.environment, "branch": self.branch}
        saved: dict[str, Any] = default_to_dict(self, **values)
        return saved

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> ArrRetriever:
        """From a saved pipeline."""
        made: ArrRetriever = default_from_dict(cls, data)
        return made
