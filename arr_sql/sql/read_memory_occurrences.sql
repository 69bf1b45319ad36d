-- How often does each term occur in each row of the memory index? (For comparing the whole index with its content.)
SELECT v.doc AS doc, v.term AS term, count(*) AS occurrences FROM memory_term AS v GROUP BY v.term, v.doc;
