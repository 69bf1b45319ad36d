-- Merge the chunk index's segments by about 1 MB (250 pages of 4 KB), towards a single one; no row changes when it is one.
-- Negative: FTS5 counts all segments as one level, as 'optimize' does, yet goes on where the last step ended. The pages of
-- what was merged are empty after each step, and the next one fills them: 'optimize' makes the file as much larger as the
-- index is.
INSERT INTO chunk_fts (chunk_fts, rank) VALUES ('merge', -250);
