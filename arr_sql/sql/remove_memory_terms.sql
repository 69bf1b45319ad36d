-- Take one memory's terms out of the index; heading and body must be what was put in.
INSERT INTO memory_fts (memory_fts, rowid, heading, body) VALUES ('delete', :id, :heading, :body);
