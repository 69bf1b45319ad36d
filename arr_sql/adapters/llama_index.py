"""A LlamaIndex retriever (``llama-index-core``): ``ArrRetriever("my-project").retrieve("question")``."""

from __future__ import annotations

import asyncio

from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from arr_sql.adapters import ask, metadata, score


class ArrRetriever(BaseRetriever):
    """Evidence as nodes with scores."""

    def __init__(
        self, folder: str = ".", *, k: int = 10, environment: str | None = None, branch: str | None = None
    ) -> None:
        super().__init__()
        self._where = (folder, k, environment, branch)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        folder, k, environment, branch = self._where
        result = ask(folder, query_bundle.query_str, k, environment, branch)
        return [
            NodeWithScore(
                node=TextNode(id_=item.chunk_id, text=item.content, metadata=metadata(result, item)), score=score(item)
            )
            for item in result.evidence
        ]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)
