-- Has this text been embedded by this model anywhere in the file? Its value may be used again (never its row).
SELECT e.vector AS vector FROM chunk_embedding AS e WHERE e.model = :model AND e.embed_hash = :embed_hash
UNION ALL
SELECT e.vector AS vector FROM memory_embedding AS e WHERE e.model = :model AND e.embed_hash = :embed_hash
LIMIT 1;
