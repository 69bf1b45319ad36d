-- Every vector of one model in this scope, to be kept in memory.
SELECT e.id AS id, e.vector AS vector
FROM chunk_embedding AS e
WHERE e.scope_id = (SELECT s.id FROM scope AS s
    WHERE s.team_id = :team_id AND s.project_id = :project_id AND s.repository = :repository
      AND s.branch = :branch AND s.experiment_environment = :experiment_environment)
  AND e.model = :model AND e.retired_revision IS NULL
ORDER BY e.id;
