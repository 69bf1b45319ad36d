-- Which scope row has exactly these five values, and how far has it counted?
SELECT s.id AS id, s.revision AS revision, s.content_revision AS content_revision
FROM scope AS s
WHERE s.team_id = :team_id AND s.project_id = :project_id AND s.repository = :repository
  AND s.branch = :branch AND s.experiment_environment = :experiment_environment;
