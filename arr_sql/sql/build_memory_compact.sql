-- Write the memory index anew from its postings. FTS5's secure-delete takes a term off the leaf pages, but the table that
-- finds the pages (memory_fts_idx) keeps the beginning of a page's first term: tests/memory/test_forgetting.py.
INSERT INTO memory_fts (memory_fts) VALUES ('optimize');
