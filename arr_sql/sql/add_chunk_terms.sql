-- Put one chunk's words into the index.
INSERT INTO chunk_fts (rowid, words) VALUES (:id, :words);
