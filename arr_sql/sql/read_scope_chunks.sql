-- Every live chunk of this scope with its source: what an evaluation compares the answers with.
SELECT c.id AS id, c.chunk_id AS chunk_id, v.source_ref AS source_ref, c.heading AS heading, c.content AS content,
  c.kind AS kind
FROM scope AS s
JOIN chunk AS c ON c.scope_id = s.id AND c.retired_revision IS NULL
JOIN source_version AS v ON v.source_id = c.source_id AND v.retired_revision IS NULL
WHERE s.team_id = :team_id AND s.project_id = :project_id AND s.repository = :repository
  AND s.branch = :branch AND s.experiment_environment = :experiment_environment
ORDER BY c.id;
