"""A LangChain retriever (``langchain-core``): ``ArrRetriever(folder="my-project").invoke("question")``."""

from __future__ import annotations

from typing import Any

from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

from arr_sql.adapters import ask, metadata, score


class ArrRetriever(BaseRetriever):
    """Evidence as documents. ``ainvoke`` runs in a thread, as LangChain does it for every retriever of this kind."""

    folder: str = "."
    k: int = 10
    environment: str | None = None
    branch: str | None = None

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        result = ask(self.folder, query, self.k, self.environment, self.branch)
        return [
            Document(
                id=item.chunk_id, page_content=item.content, metadata={**metadata(result, item), "score": score(item)}
            )
            for item in result.evidence
        ]
