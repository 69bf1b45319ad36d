-- Deleted terms are erased from the index's pages, not only marked (SQLite 3.42 and newer).
INSERT INTO memory_fts (memory_fts, rank) VALUES ('secure-delete', 1);
