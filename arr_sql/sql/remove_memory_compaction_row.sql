-- Take the empty row out again.
INSERT INTO memory_fts (memory_fts, rowid, heading, body) VALUES ('delete', 0, '', '0');
