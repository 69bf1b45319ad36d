-- Of each scope that has content: what is noted of its text indexes?
SELECT s.id AS id, s.content_revision AS content_revision, n.value AS name, i.content_revision AS covered,
  i.version AS version, i.analyser_version AS analyser_version
FROM scope AS s
CROSS JOIN json_each('["chunk_text", "memory_text"]') AS n
LEFT JOIN scope_index AS i ON i.scope_id = s.id AND i.name = n.value
WHERE s.content_revision > 0 OR i.scope_id IS NOT NULL
ORDER BY s.id, n.value;
