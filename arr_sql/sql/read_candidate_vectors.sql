-- The vectors with these ids, and the chunks of this scope that have them.
WITH scope_of AS (
  SELECT s.id AS id FROM scope AS s
  WHERE s.team_id = :team_id AND s.project_id = :project_id AND s.repository = :repository
    AND s.branch = :branch AND s.experiment_environment = :experiment_environment
)
SELECT e.id AS id, e.vector AS vector, c.chunk_id AS chunk_id
FROM json_each(:ids) AS i
CROSS JOIN chunk_embedding AS e ON e.id = i.value
CROSS JOIN chunk AS c ON c.id = e.chunk
WHERE e.scope_id = (SELECT id FROM scope_of) AND e.retired_revision IS NULL AND c.retired_revision IS NULL
ORDER BY c.chunk_id;
