-- How many segments of a size make FTS5 merge them in the chunk index? No row: as many as by default.
SELECT c.v AS segments FROM chunk_fts_config AS c WHERE c.k = 'automerge' LIMIT 1;
