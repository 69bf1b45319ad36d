-- A copied vector of a memory, hidden until a revision shows it.
INSERT INTO memory_embedding (id, scope_id, model, memory, embed_hash, vector, added_revision, retired_revision)
VALUES (:id, :scope_id, :model, :memory, :embed_hash, :vector, :added_revision, :added_revision + 1);
