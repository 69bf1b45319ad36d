-- A chunk that only moved within its file keeps its vectors: the same text, the same value.
INSERT INTO chunk_embedding (scope_id, model, chunk, embed_hash, vector, added_revision)
SELECT e.scope_id, e.model, :new_id, e.embed_hash, e.vector, :revision
FROM chunk_embedding AS e WHERE e.chunk = :old_id AND e.retired_revision IS NULL AND e.embed_hash = :embed_hash;
