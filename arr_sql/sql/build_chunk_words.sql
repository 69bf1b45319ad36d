-- One row per word of the chunk index, with the number of chunks: known without reading them one by one.
CREATE VIRTUAL TABLE chunk_term_row USING fts5vocab('chunk_fts', 'row');
