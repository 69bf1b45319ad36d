-- The folders and files that were added to this scope.
SELECT r.id AS id, r.name AS name, r.path AS path, r.is_inside_project AS is_inside_project, r.only_file AS only_file,
  r.git_repository AS git_repository, r.git_branch AS git_branch
FROM scope AS s
JOIN root AS r ON r.scope_id = s.id
WHERE s.team_id = :team_id AND s.project_id = :project_id AND s.repository = :repository
  AND s.branch = :branch AND s.experiment_environment = :experiment_environment
ORDER BY r.id;
