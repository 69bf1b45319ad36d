-- Which of the derived text index tables are in this file?
SELECT s.name AS name FROM sqlite_master AS s
WHERE s.name IN ('chunk_fts', 'chunk_term', 'chunk_term_row', 'memory_fts', 'memory_term') ORDER BY s.name;
