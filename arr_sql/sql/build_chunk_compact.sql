-- Write the chunk index anew from its postings. FTS5's secure-delete takes a term off the leaf pages, but the table that
-- finds the pages (chunk_fts_idx) keeps the beginning of a page's first term: tests/memory/test_forgetting.py.
INSERT INTO chunk_fts (chunk_fts) VALUES ('optimize');
