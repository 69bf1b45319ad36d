-- Remove the memory index; it is derived and can be built again.
DROP TABLE IF EXISTS memory_fts;
