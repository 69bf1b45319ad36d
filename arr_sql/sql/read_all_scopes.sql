-- Every scope row, whole, with its parent's five values, to compare with the events that opened them and counted on.
SELECT s.id AS id, s.revision AS revision, s.content_revision AS content_revision, s.parent_revision AS parent_revision,
  s.created_at AS created_at,
  CASE WHEN s.parent_scope_id IS NULL THEN NULL ELSE
    json_array(p.team_id, p.project_id, p.repository, p.branch, p.experiment_environment) END AS parent
FROM scope AS s LEFT JOIN scope AS p ON p.id = s.parent_scope_id ORDER BY s.id;
