-- With which settings does FTS5 keep the chunk index?
SELECT f.k AS name, f.v AS value FROM chunk_fts_config AS f ORDER BY name;
