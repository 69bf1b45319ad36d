-- How many changes has this scope counted? The same number means the same vectors.
SELECT s.revision AS revision
FROM scope AS s
WHERE s.team_id = :team_id AND s.project_id = :project_id AND s.repository = :repository
  AND s.branch = :branch AND s.experiment_environment = :experiment_environment;
