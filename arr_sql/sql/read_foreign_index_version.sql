-- Was any scope's text index made by other versions than these?
SELECT 1 AS is_foreign FROM scope_index AS i
WHERE i.name IN ('chunk_text', 'memory_text') AND (i.version <> :version OR i.analyser_version <> :analyser_version)
LIMIT 1;
