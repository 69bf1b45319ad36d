-- Which chunks of this scope match these terms best? Okapi BM25 (Robertson and Zaragoza 2009) in one statement, with
-- the scope's own counts and lengths: other scopes' rows are behind other term prefixes and are never read.
-- :terms is a JSON object of term -> query weight. A term in the heading counts :heading_weight times, and so do
-- heading words in the length. idf = ln(1 + (N - df + 0.5) / (df + 0.5)).
WITH scope_of AS (
  SELECT s.id AS id FROM scope AS s
  WHERE s.team_id = :team_id AND s.project_id = :project_id AND s.repository = :repository
    AND s.branch = :branch AND s.experiment_environment = :experiment_environment
), stat AS MATERIALIZED (
  SELECT count(*) AS n, avg(c.n_terms + :heading_weight * c.n_heading_terms) AS avg_terms
  FROM chunk AS c WHERE c.scope_id = (SELECT id FROM scope_of) AND c.retired_revision IS NULL
), posting AS MATERIALIZED (
  -- CROSS: a plain JOIN lets the planner run the vocabulary table once per row instead of once per term.
  SELECT q.key AS term, q.value AS weight, v.doc AS chunk,
    sum(CASE v.col WHEN 'heading' THEN :heading_weight ELSE 1.0 END) AS tf
  FROM json_each(:terms) AS q
  CROSS JOIN chunk_term AS v ON v.term = 's' || (SELECT id FROM scope_of) || 'x' || q.key
  GROUP BY q.key, v.doc
), idf AS MATERIALIZED (
  SELECT p.term AS term, ln(1 + ((SELECT n FROM stat) - count(*) + 0.5) / (count(*) + 0.5)) AS idf
  FROM posting AS p GROUP BY p.term
), best AS MATERIALIZED (
  SELECT p.chunk AS chunk,
    sum(p.weight * i.idf * p.tf * (:k1 + 1)
        / (p.tf + :k1 * (1 - :b + :b * (c.n_terms + :heading_weight * c.n_heading_terms)
                                    / (SELECT avg_terms FROM stat)))) AS score,
    c.chunk_id AS chunk_id
  FROM posting AS p
  JOIN idf AS i ON i.term = p.term
  CROSS JOIN chunk AS c ON c.id = p.chunk AND c.retired_revision IS NULL
  GROUP BY p.chunk
  ORDER BY score DESC, chunk_id
  LIMIT :k
)
SELECT b.score AS score, (SELECT count(DISTINCT p.chunk) FROM posting AS p) AS matches,
  c.chunk_id AS chunk_id, c.content AS content, c.content_hash AS content_hash, c.heading AS heading, c.kind AS kind,
  c.locator AS locator, c.start_line AS start_line, c.end_line AS end_line, c.created_at AS created_at,
  v.source_ref AS source_ref, v.title AS title, v.reader AS reader, v.content_hash AS file_hash,
  v.path_in_root AS path_in_root, v.git_commit AS git_commit, v.git_state AS git_state, o.root_id AS root_id
FROM best AS b
CROSS JOIN chunk AS c ON c.id = b.chunk
CROSS JOIN source AS o ON o.id = c.source_id
CROSS JOIN source_version AS v ON v.source_id = o.id AND v.retired_revision IS NULL
ORDER BY b.score DESC, b.chunk_id;
