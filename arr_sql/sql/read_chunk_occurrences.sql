-- Which words does each chunk have in the index? Places are not kept. (For comparing the whole index with its content.)
SELECT v.doc AS doc, v.term AS term, v.col AS col, count(*) AS occurrences, 0 AS places, 0 AS squares
FROM chunk_term AS v GROUP BY v.term, v.doc, v.col;
