-- The scope of a replay in its private file, under the id that it has in the store: ids decide no answer, but they are kept.
INSERT INTO scope (id, team_id, project_id, repository, branch, experiment_environment, revision, content_revision, created_at)
VALUES (:id, :team_id, :project_id, :repository, :branch, :experiment_environment, :revision, :revision, :created_at);
