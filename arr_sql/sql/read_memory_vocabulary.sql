-- Every term of the memory index (to account for bytes that remain: what they are terms of).
SELECT DISTINCT v.term AS term FROM memory_term AS v ORDER BY v.term;
