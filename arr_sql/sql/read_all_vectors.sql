-- Every vector of the file with its chunk and model, to compare with the events that vouch for them.
SELECT e.id AS id, e.scope_id AS scope_id, e.embed_hash AS embed_hash, e.vector AS vector,
  e.added_revision AS added_revision, e.retired_revision AS retired_revision, e.model AS model,
  m.fingerprint AS fingerprint, m.dimension AS dimension, c.scope_id AS owner_scope_id, c.chunk_id AS owner,
  c.embed_hash AS owner_embed_hash, c.added_revision AS owner_added, c.retired_revision AS owner_retired
FROM chunk_embedding AS e
LEFT JOIN embedding_model AS m ON m.id = e.model
LEFT JOIN chunk AS c ON c.id = e.chunk
ORDER BY e.scope_id, e.added_revision, c.chunk_id, m.fingerprint, e.id;
