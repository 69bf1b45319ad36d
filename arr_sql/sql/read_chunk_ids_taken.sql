-- Which of these ids (a JSON list) do live chunks of this scope have already?
SELECT c.chunk_id AS chunk_id
FROM json_each(:chunk_ids) AS wanted
CROSS JOIN chunk AS c ON c.scope_id = :scope_id AND c.chunk_id = wanted.value AND c.retired_revision IS NULL
ORDER BY c.chunk_id;
