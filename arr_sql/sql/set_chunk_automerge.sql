-- FTS5 merges the chunk index's segments when there are so many of a size (its default is 4); 0 leaves them until later.
INSERT INTO chunk_fts (chunk_fts, rank) VALUES ('automerge', :segments);
