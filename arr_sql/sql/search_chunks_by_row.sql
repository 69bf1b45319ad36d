-- The chunks of this scope with these row ids (a JSON array), whole, with the files they came from.
SELECT c.id AS chunk, c.chunk_id AS chunk_id, c.content AS content, c.content_hash AS content_hash, c.heading AS heading,
  c.kind AS kind, c.locator AS locator, c.start_line AS start_line, c.end_line AS end_line, c.created_at AS created_at,
  v.source_ref AS source_ref, v.title AS title, v.reader AS reader, v.content_hash AS file_hash,
  v.path_in_root AS path_in_root, v.git_commit AS git_commit, v.git_state AS git_state, o.root_id AS root_id
FROM scope AS s
CROSS JOIN json_each(:chunks) AS p
CROSS JOIN chunk AS c ON c.id = p.value AND c.scope_id = s.id AND c.retired_revision IS NULL
CROSS JOIN source AS o ON o.id = c.source_id
CROSS JOIN source_version AS v ON v.source_id = o.id AND v.retired_revision IS NULL
WHERE s.team_id = :team_id AND s.project_id = :project_id AND s.repository = :repository
  AND s.branch = :branch AND s.experiment_environment = :experiment_environment
ORDER BY c.id;
