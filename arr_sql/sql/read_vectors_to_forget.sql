-- Every vector of the chunks of these sources (:sources is a JSON array of row ids).
SELECT e.id AS id, e.vector AS vector
FROM json_each(:sources) AS j
CROSS JOIN chunk AS c ON c.source_id = j.value
CROSS JOIN chunk_embedding AS e ON e.chunk = c.id
ORDER BY e.id;
