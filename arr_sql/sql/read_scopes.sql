-- Every scope of the file with what it holds (for the operator of the whole file; no answer of one scope uses it).
SELECT s.team_id AS team_id, s.project_id AS project_id, s.repository AS repository, s.branch AS branch,
  s.experiment_environment AS experiment_environment, s.revision AS revision,
  CASE WHEN p.id IS NOT NULL THEN
    json_array(p.team_id, p.project_id, p.repository, p.branch, p.experiment_environment) END AS parent,
  s.parent_revision AS parent_revision,
  (SELECT count(*) FROM source_version AS v WHERE v.scope_id = s.id AND v.retired_revision IS NULL) AS sources,
  (SELECT count(*) FROM chunk AS c WHERE c.scope_id = s.id AND c.retired_revision IS NULL) AS chunks,
  (SELECT count(*) FROM memory AS m WHERE m.scope_id = s.id AND m.retired_revision IS NULL) AS memories
FROM scope AS s
LEFT JOIN scope AS p ON p.id = s.parent_scope_id
ORDER BY s.team_id, s.project_id, s.repository, s.branch, s.experiment_environment;
