-- Open a new, empty scope; from a parent at a revision when one is given.
INSERT INTO scope (team_id, project_id, repository, branch, experiment_environment,
  parent_scope_id, parent_revision, created_at)
VALUES (:team_id, :project_id, :repository, :branch, :experiment_environment,
  :parent_scope_id, :parent_revision, :created_at);
