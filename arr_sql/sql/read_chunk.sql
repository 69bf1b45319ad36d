-- One live chunk of this scope with the file it came from.
SELECT c.chunk_id AS chunk_id, v.source_ref AS source_ref, c.locator AS locator, c.heading AS heading, c.kind AS kind,
  c.content AS content, c.content_hash AS content_hash, c.start_line AS start_line, c.end_line AS end_line,
  v.title AS title, v.reader AS reader, v.encoding AS encoding, v.git_commit AS git_commit, v.git_state AS git_state,
  c.created_at AS created_at, c.added_revision AS added_revision
FROM scope AS s
JOIN chunk AS c ON c.scope_id = s.id AND c.chunk_id = :chunk_id AND c.retired_revision IS NULL
JOIN source_version AS v ON v.source_id = c.source_id AND v.retired_revision IS NULL
WHERE s.team_id = :team_id AND s.project_id = :project_id AND s.repository = :repository
  AND s.branch = :branch AND s.experiment_environment = :experiment_environment;
