-- Which scopes hold a retrieval with this id? Ids are unique within a scope; two scopes can have the same one.
SELECT s.team_id AS team_id, s.project_id AS project_id, s.repository AS repository, s.branch AS branch,
  s.experiment_environment AS experiment_environment
FROM scope AS s
CROSS JOIN retrieval AS r ON r.scope_id = s.id AND r.retrieval_id = :retrieval_id
ORDER BY s.id;
