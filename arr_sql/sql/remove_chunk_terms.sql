-- Take one chunk's terms out of the index; heading and body must be what was put in.
INSERT INTO chunk_fts (chunk_fts, rowid, heading, body) VALUES ('delete', :id, :heading, :body);
