-- FTS5's own integrity check of the memory index; raises when it is damaged.
INSERT INTO memory_fts (memory_fts) VALUES ('integrity-check');
