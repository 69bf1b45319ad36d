-- Every vector of these versions of memories (:memories is a JSON array of row ids).
SELECT e.id AS id, e.vector AS vector
FROM json_each(:memories) AS j
CROSS JOIN memory_embedding AS e ON e.memory = j.value
ORDER BY e.id;
