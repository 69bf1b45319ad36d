-- Which chunks of this scope are nearest to the query vector? An exact scan of the scope's own vectors (unit length, so
-- cosine = 1 - distance^2 / 2; L2 is measurably faster than cosine). Everything as near as the k-th, within the error of
-- 32-bit sums, is handed on: the caller scores it again in 64 bits, so that sqlite-vec and its stand-in agree.
WITH scope_of AS (
  SELECT s.id AS id FROM scope AS s
  WHERE s.team_id = :team_id AND s.project_id = :project_id AND s.repository = :repository
    AND s.branch = :branch AND s.experiment_environment = :experiment_environment
), scanned AS MATERIALIZED (
  SELECT e.chunk AS chunk, e.id AS embedding, vec_distance_L2(e.vector, :vector) AS distance
  FROM chunk_embedding AS e
  WHERE e.scope_id = (SELECT id FROM scope_of) AND e.model = :model AND e.retired_revision IS NULL
), kth AS MATERIALIZED (
  SELECT max(n.distance) AS distance FROM (SELECT d.distance AS distance FROM scanned AS d ORDER BY d.distance LIMIT :k) AS n
)
SELECT e.vector AS vector, c.chunk_id AS chunk_id, c.content AS content, c.content_hash AS content_hash,
  c.heading AS heading, c.kind AS kind, c.locator AS locator, c.start_line AS start_line, c.end_line AS end_line,
  c.created_at AS created_at, v.source_ref AS source_ref, v.title AS title, v.reader AS reader,
  v.content_hash AS file_hash, v.path_in_root AS path_in_root, v.git_commit AS git_commit, v.git_state AS git_state,
  o.root_id AS root_id
FROM scanned AS d
CROSS JOIN chunk AS c ON c.id = d.chunk AND c.retired_revision IS NULL
CROSS JOIN chunk_embedding AS e ON e.id = d.embedding
CROSS JOIN source AS o ON o.id = c.source_id
CROSS JOIN source_version AS v ON v.source_id = o.id AND v.retired_revision IS NULL
WHERE d.distance <= (SELECT distance FROM kth) + 0.00001
ORDER BY d.distance, c.chunk_id
LIMIT 4 * :k;
