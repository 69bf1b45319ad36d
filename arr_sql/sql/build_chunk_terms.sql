-- One row per chunk and word (a term with its frequencies): what BM25 counts from.
CREATE VIRTUAL TABLE chunk_term USING fts5vocab('chunk_fts', 'instance');
