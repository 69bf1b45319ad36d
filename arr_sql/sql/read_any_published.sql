-- Does this scope hold a published memory?
SELECT 1 AS is_there
FROM scope AS s
JOIN memory AS m ON m.scope_id = s.id AND m.status = 'published' AND m.retired_revision IS NULL
WHERE s.team_id = :team_id AND s.project_id = :project_id AND s.repository = :repository
  AND s.branch = :branch AND s.experiment_environment = :experiment_environment
LIMIT 1;
