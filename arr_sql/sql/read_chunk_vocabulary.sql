-- Every term of the chunk index (to account for bytes that remain: what they are terms of).
SELECT DISTINCT v.term AS term FROM chunk_term AS v ORDER BY v.term;
