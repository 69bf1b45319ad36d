-- Put one chunk's terms into the index.
INSERT INTO chunk_fts (rowid, heading, body) VALUES (:id, :heading, :body);
