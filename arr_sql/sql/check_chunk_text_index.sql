-- FTS5's own integrity check of the chunk index; raises when it is damaged.
INSERT INTO chunk_fts (chunk_fts) VALUES ('integrity-check');
