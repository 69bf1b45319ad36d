-- With which settings does FTS5 keep the memory index?
SELECT f.k AS name, f.v AS value FROM memory_fts_config AS f ORDER BY name;
