-- Whatever else is set, FTS5 merges the chunk index's segments when there are so many of a size (its default is 16).
INSERT INTO chunk_fts (chunk_fts, rank) VALUES ('crisismerge', :segments);
