-- Remove the table of words before the index it reads.
DROP TABLE IF EXISTS chunk_term_row;
