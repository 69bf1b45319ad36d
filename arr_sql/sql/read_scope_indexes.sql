-- Which content revision does each index of this scope cover, and what made it?
SELECT i.name AS name, i.content_revision AS content_revision, i.version AS version,
  i.analyser_version AS analyser_version, s.content_revision AS scope_content_revision
FROM scope AS s
JOIN scope_index AS i ON i.scope_id = s.id
WHERE s.team_id = :team_id AND s.project_id = :project_id AND s.repository = :repository
  AND s.branch = :branch AND s.experiment_environment = :experiment_environment
ORDER BY i.name;
