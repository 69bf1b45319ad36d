-- Put one memory's terms into the index.
INSERT INTO memory_fts (rowid, heading, body) VALUES (:id, :heading, :body);
