-- The five values of one scope row (for the audit log, which hashes values and not ids).
SELECT s.team_id AS team_id, s.project_id AS project_id, s.repository AS repository, s.branch AS branch,
  s.experiment_environment AS experiment_environment
FROM scope AS s WHERE s.id = :scope_id;
