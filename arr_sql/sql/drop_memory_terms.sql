-- Remove the vocabulary table before the index it reads.
DROP TABLE IF EXISTS memory_term;
