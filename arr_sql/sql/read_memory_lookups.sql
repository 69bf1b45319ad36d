-- What does the memory index give when it is entered by each of these terms (a JSON array), as a search does?
SELECT p.value AS term, count(*) AS occurrences, sum(v.doc) AS docs
FROM json_each(:terms) AS p
CROSS JOIN memory_term AS v ON v.term = p.value
GROUP BY p.value ORDER BY p.value;
