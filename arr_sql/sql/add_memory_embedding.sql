-- A published memory's vector, unless the version was retired or another process was first.
INSERT INTO memory_embedding (scope_id, model, memory, embed_hash, vector, added_revision)
SELECT m.scope_id, :model, m.id, :embed_hash, :vector, :revision
FROM memory AS m
WHERE m.id = :memory AND m.retired_revision IS NULL
  AND NOT EXISTS (SELECT 1 FROM memory_embedding AS e
    WHERE e.scope_id = m.scope_id AND e.model = :model AND e.memory = m.id AND e.retired_revision IS NULL);
