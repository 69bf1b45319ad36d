-- A chunk's vector, unless the chunk was retired or another process was first.
INSERT INTO chunk_embedding (scope_id, model, chunk, embed_hash, vector, added_revision)
SELECT c.scope_id, :model, c.id, c.embed_hash, :vector, :revision
FROM chunk AS c
WHERE c.id = :chunk AND c.retired_revision IS NULL
  AND NOT EXISTS (SELECT 1 FROM chunk_embedding AS e
    WHERE e.scope_id = c.scope_id AND e.model = :model AND e.chunk = c.id AND e.retired_revision IS NULL);
