-- Open a new, empty scope.
INSERT INTO scope (team_id, project_id, repository, branch, experiment_environment, created_at)
VALUES (:team_id, :project_id, :repository, :branch, :experiment_environment, :created_at);
