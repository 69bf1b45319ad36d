-- The row numbers of every table whose rows are numbered as they come, to see whether one went or was changed.
SELECT 'approval_decision' AS name, t.id AS id FROM approval_decision AS t
UNION ALL SELECT 'approval_package', t.id FROM approval_package AS t
UNION ALL SELECT 'chunk', t.id FROM chunk AS t
UNION ALL SELECT 'chunk_embedding', t.id FROM chunk_embedding AS t
UNION ALL SELECT 'embedding_model', t.id FROM embedding_model AS t
UNION ALL SELECT 'forget_receipt', t.id FROM forget_receipt AS t
UNION ALL SELECT 'forget_scan', t.id FROM forget_scan AS t
UNION ALL SELECT 'memory', t.id FROM memory AS t
UNION ALL SELECT 'memory_embedding', t.id FROM memory_embedding AS t
UNION ALL SELECT 'retrieval', t.id FROM retrieval AS t
UNION ALL SELECT 'root', t.id FROM root AS t
UNION ALL SELECT 'scope', t.id FROM scope AS t
UNION ALL SELECT 'source', t.id FROM source AS t
UNION ALL SELECT 'source_version', t.id FROM source_version AS t
UNION ALL SELECT 'verification_receipt', t.id FROM verification_receipt AS t
ORDER BY name, id;
