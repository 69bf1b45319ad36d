-- One row per occurrence of a term: what BM25 counts from.
CREATE VIRTUAL TABLE memory_term USING fts5vocab('memory_fts', 'instance');
