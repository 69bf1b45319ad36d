-- The items that a retrieval returned, in order, each with its text where the store still has it.
SELECT e.rank AS rank, e.chunk_id AS chunk_id, e.content_hash AS content_hash, e.source_ref AS source_ref,
  e.locator AS locator, e.channels AS channels, e.rrf_score AS rrf_score, e.rerank_score AS rerank_score,
  e.rerank_reason AS rerank_reason, e.freshness AS freshness,
  coalesce(
    (SELECT c.content FROM chunk AS c
     WHERE c.scope_id = e.scope_id AND c.chunk_id = e.chunk_id AND c.content_hash = e.content_hash
       AND c.retired_revision IS NULL),
    (SELECT c.content FROM chunk AS c
     WHERE c.scope_id = e.scope_id AND c.chunk_id = e.chunk_id AND c.content_hash = e.content_hash
       AND c.retired_revision IS NOT NULL LIMIT 1),
    (SELECT m.content FROM memory AS m
     WHERE m.scope_id = e.scope_id AND m.memory_id = substr(e.chunk_id, 8) AND e.chunk_id GLOB 'memory:*'
       AND m.content_hash = e.content_hash LIMIT 1)
  ) AS content
FROM retrieval_evidence AS e WHERE e.retrieval = :retrieval ORDER BY e.rank;
