-- Which live chunks of this scope have no vector of this model yet? Texts in order of their chunks.
SELECT c.id AS id, c.heading AS heading, c.content AS content, c.embed_hash AS embed_hash
FROM chunk AS c
WHERE c.scope_id = :scope_id AND c.retired_revision IS NULL AND c.id > :after
  AND NOT EXISTS (SELECT 1 FROM chunk_embedding AS e
    WHERE e.scope_id = c.scope_id AND e.model = :model AND e.chunk = c.id AND e.retired_revision IS NULL)
ORDER BY c.id
LIMIT :limit;
