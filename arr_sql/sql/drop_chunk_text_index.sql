-- Remove the chunk index; it is derived and can be built again.
DROP TABLE IF EXISTS chunk_fts;
