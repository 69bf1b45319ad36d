-- How many terms does FTS5 note for each row of the chunk index (one varint a column)?
SELECT z.id AS id, z.sz AS sizes FROM chunk_fts_docsize AS z ORDER BY z.id;
