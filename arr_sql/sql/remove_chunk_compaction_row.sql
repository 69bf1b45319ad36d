-- Take the empty row out again.
INSERT INTO chunk_fts (chunk_fts, rowid, words) VALUES ('delete', 0, '0');
