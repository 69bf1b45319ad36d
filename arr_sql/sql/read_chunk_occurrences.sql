-- How often, in which column and where does each term occur in each row of the chunk index? The sums of the places and of
-- their squares stand for the places. (For comparing the whole index with its content.)
SELECT v.doc AS doc, v.term AS term, v.col AS col, count(*) AS occurrences, sum(v.offset) AS places,
  sum(v.offset * v.offset) AS squares
FROM chunk_term AS v GROUP BY v.term, v.doc, v.col;
