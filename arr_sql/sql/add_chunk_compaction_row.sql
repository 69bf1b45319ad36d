-- An empty row before all others: 'optimize' does nothing to an index that is one segment already, so make it two.
INSERT INTO chunk_fts (rowid, words) VALUES (0, '0');
