-- After a rebuild of the whole file's text index: every scope's is current.
INSERT INTO scope_index (scope_id, name, content_revision, version, analyser_version)
SELECT s.id, n.value, s.content_revision, :version, :analyser_version
FROM scope AS s CROSS JOIN json_each('["chunk_text", "memory_text"]') AS n WHERE true
ON CONFLICT (scope_id, name) DO UPDATE
SET content_revision = excluded.content_revision, version = excluded.version, analyser_version = excluded.analyser_version;
