-- How many rows do the tables hold whose ids are given in order, and what is the highest id?
SELECT 'scope' AS name, count(*) AS rows, coalesce(max(t.id), 0) AS highest FROM scope AS t
UNION ALL SELECT 'root', count(*), coalesce(max(t.id), 0) FROM root AS t
UNION ALL SELECT 'source', count(*), coalesce(max(t.id), 0) FROM source AS t
UNION ALL SELECT 'source_version', count(*), coalesce(max(t.id), 0) FROM source_version AS t
UNION ALL SELECT 'chunk', count(*), coalesce(max(t.id), 0) FROM chunk AS t
UNION ALL SELECT 'chunk_embedding', count(*), coalesce(max(t.id), 0) FROM chunk_embedding AS t
UNION ALL SELECT 'embedding_model', count(*), coalesce(max(t.id), 0) FROM embedding_model AS t
UNION ALL SELECT 'memory', count(*), coalesce(max(t.id), 0) FROM memory AS t
UNION ALL SELECT 'retrieval', count(*), coalesce(max(t.id), 0) FROM retrieval AS t
ORDER BY name;
