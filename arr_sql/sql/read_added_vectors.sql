-- The vectors that these chunk rows (a JSON array) got at a revision, for the event that vouches for them.
SELECT c.chunk_id AS chunk_id, m.fingerprint AS fingerprint, e.embed_hash AS embed_hash, e.vector AS vector, e.id AS id
FROM json_each(:chunks) AS p
CROSS JOIN chunk AS c ON c.id = p.value
CROSS JOIN chunk_embedding AS e ON e.chunk = c.id AND e.added_revision = :revision
CROSS JOIN embedding_model AS m ON m.id = e.model
ORDER BY c.chunk_id, m.fingerprint, e.id;
