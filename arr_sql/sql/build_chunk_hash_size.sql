-- FTS5 gathers up to 16 MB of terms before it writes them out as an index of their own (its default is 1 MB): a batch of
-- a sync becomes one such index instead of several that are merged again, which took a third more time.
INSERT INTO chunk_fts (chunk_fts, rank) VALUES ('hashsize', 16777216);
