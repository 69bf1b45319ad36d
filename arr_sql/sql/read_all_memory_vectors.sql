-- Every vector of a memory in the file with its version and model, to compare with the events that vouch for them.
SELECT e.id AS id, e.scope_id AS scope_id, e.embed_hash AS embed_hash, e.vector AS vector,
  e.added_revision AS added_revision, e.retired_revision AS retired_revision, e.model AS model,
  d.fingerprint AS fingerprint, d.dimension AS dimension, m.scope_id AS owner_scope_id, m.memory_id AS memory_id,
  m.title AS title, m.content AS content, m.added_revision AS owner_added, m.retired_revision AS owner_retired
FROM memory_embedding AS e
LEFT JOIN embedding_model AS d ON d.id = e.model
LEFT JOIN memory AS m ON m.id = e.memory
ORDER BY e.scope_id, e.added_revision, m.memory_id, d.fingerprint, e.id;
