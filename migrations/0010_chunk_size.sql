-- Lengths by row id in an index of their own: BM25 looks up the length of every chunk that holds a word of the question,
-- and in the table itself each look-up reads a page of texts.
CREATE INDEX chunk_size ON chunk (id, n_terms, n_heading_terms) WHERE retired_revision IS NULL;
