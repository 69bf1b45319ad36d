-- A copied vector, hidden until a revision shows it.
INSERT INTO chunk_embedding (id, scope_id, model, chunk, embed_hash, vector, added_revision, retired_revision)
VALUES (:id, :scope_id, :model, :chunk, :embed_hash, :vector, :added_revision, :added_revision + 1);
