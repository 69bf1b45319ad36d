-- Which chunks of this scope have these vectors (a JSON array of ids)?
SELECT e.id AS id, c.chunk_id AS chunk_id, c.id AS chunk
FROM json_each(:ids) AS i
CROSS JOIN chunk_embedding AS e ON e.id = i.value
CROSS JOIN chunk AS c ON c.id = e.chunk AND c.retired_revision IS NULL
WHERE e.scope_id = (
    SELECT s.id FROM scope AS s
    WHERE s.team_id = :team_id AND s.project_id = :project_id AND s.repository = :repository
      AND s.branch = :branch AND s.experiment_environment = :experiment_environment)
ORDER BY c.chunk_id, e.id;
