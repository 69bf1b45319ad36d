-- One row per occurrence of a term: what BM25 counts from.
CREATE VIRTUAL TABLE chunk_term USING fts5vocab('chunk_fts', 'instance');
