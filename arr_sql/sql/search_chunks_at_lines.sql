-- Which chunk of this scope holds each of these lines? :places is a JSON array of [root_id, path_in_root, line], best first.
SELECT p.key AS place, t.size AS size, t.mtime_ns AS mtime_ns,
  c.chunk_id AS chunk_id, c.content AS content, c.content_hash AS content_hash, c.heading AS heading, c.kind AS kind,
  c.locator AS locator, c.start_line AS start_line, c.end_line AS end_line, c.created_at AS created_at,
  v.source_ref AS source_ref, v.title AS title, v.reader AS reader, v.content_hash AS file_hash,
  v.path_in_root AS path_in_root, v.git_commit AS git_commit, v.git_state AS git_state, o.root_id AS root_id
FROM scope AS s
CROSS JOIN json_each(:places) AS p
CROSS JOIN root AS r ON r.id = json_extract(p.value, '$[0]') AND r.scope_id = s.id
CROSS JOIN source_version AS v ON v.scope_id = s.id AND v.retired_revision IS NULL
  AND v.source_ref = CASE r.name WHEN '' THEN '' ELSE r.name || '/' END || json_extract(p.value, '$[1]')
CROSS JOIN source AS o ON o.id = v.source_id
CROSS JOIN source_stat AS t ON t.source_id = o.id
CROSS JOIN chunk AS c ON c.source_id = o.id AND c.retired_revision IS NULL
  AND json_extract(p.value, '$[2]') BETWEEN c.start_line AND c.end_line
WHERE s.team_id = :team_id AND s.project_id = :project_id AND s.repository = :repository
  AND s.branch = :branch AND s.experiment_environment = :experiment_environment
ORDER BY p.key, c.ordinal, c.id;
