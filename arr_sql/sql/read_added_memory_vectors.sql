-- The vectors that these versions of memories (a JSON array of rows) got at a revision, for the event that vouches for them.
SELECT m.memory_id AS memory_id, d.fingerprint AS fingerprint, e.embed_hash AS embed_hash, e.vector AS vector, e.id AS id
FROM json_each(:memories) AS p
CROSS JOIN memory AS m ON m.id = p.value
CROSS JOIN memory_embedding AS e ON e.memory = m.id AND e.added_revision = :revision
CROSS JOIN embedding_model AS d ON d.id = e.model
ORDER BY m.memory_id, d.fingerprint, e.id;
