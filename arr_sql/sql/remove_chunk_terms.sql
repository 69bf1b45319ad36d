-- Take one chunk's words out of the index; they must be what was put in.
INSERT INTO chunk_fts (chunk_fts, rowid, words) VALUES ('delete', :id, :words);
