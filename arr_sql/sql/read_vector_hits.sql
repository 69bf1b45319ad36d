-- The chunks of these vectors, with all that a hit shows.
WITH scope_of AS (
  SELECT s.id AS id FROM scope AS s
  WHERE s.team_id = :team_id AND s.project_id = :project_id AND s.repository = :repository
    AND s.branch = :branch AND s.experiment_environment = :experiment_environment
)
SELECT e.id AS embedding, c.chunk_id AS chunk_id, c.content AS content, c.content_hash AS content_hash,
  c.heading AS heading, c.kind AS kind, c.locator AS locator, c.start_line AS start_line, c.end_line AS end_line,
  c.created_at AS created_at, v.source_ref AS source_ref, v.title AS title, v.reader AS reader,
  v.content_hash AS file_hash, v.path_in_root AS path_in_root, v.git_commit AS git_commit, v.git_state AS git_state,
  o.root_id AS root_id
FROM json_each(:ids) AS i
CROSS JOIN chunk_embedding AS e ON e.id = i.value
CROSS JOIN chunk AS c ON c.id = e.chunk
CROSS JOIN source AS o ON o.id = c.source_id
CROSS JOIN source_version AS v ON v.source_id = o.id AND v.retired_revision IS NULL
WHERE e.scope_id = (SELECT id FROM scope_of)
ORDER BY c.chunk_id;
