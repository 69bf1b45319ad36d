-- A memory's next version with the same words keeps its vectors: the same text, the same value.
INSERT INTO memory_embedding (scope_id, model, memory, embed_hash, vector, added_revision)
SELECT e.scope_id, e.model, :new_id, e.embed_hash, e.vector, :revision
FROM memory_embedding AS e WHERE e.memory = :old_id AND e.retired_revision IS NULL;
