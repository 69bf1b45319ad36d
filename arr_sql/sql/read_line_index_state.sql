-- Which state is this scope's index of lines in: of how many folders is it, and what is the sum of their check sums?
SELECT l.n_folders AS n_folders, l.check_sums AS check_sums
FROM scope AS s
CROSS JOIN line_index AS l ON l.scope_id = s.id
WHERE s.team_id = :team_id AND s.project_id = :project_id AND s.repository = :repository
  AND s.branch = :branch AND s.experiment_environment = :experiment_environment;
