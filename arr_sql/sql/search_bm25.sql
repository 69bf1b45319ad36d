-- Which chunks of this scope are best by BM25? Okapi BM25 (Robertson and Zaragoza 2009) with the scope's own counts.
-- :words is a JSON array of [word, gain, body, heading]: a word of the index; the query's weight x idf x tf x (k1 + 1) x 1e9
-- as a whole number; and how often the word's chunks hold the term, a heading counting :heading_weight times. :k1_short is
-- k1 (1 - b), :k1_long is k1 b / mean length. Each part is a whole number of 1e-9, so a sum does not depend on its order.
-- :rest holds the words that are too common to bring in a chunk on their own: together they add at most :rest_bound, less
-- than the :k-th best score by :words. They are read only for chunks that can still win; the answer is the same as with
-- all words in :words (tests/retrieval/test_bm25_retriever.py).
WITH scope_of AS MATERIALIZED (
  SELECT 's' || s.id || 'x' AS prefix FROM scope AS s
  WHERE s.team_id = :team_id AND s.project_id = :project_id AND s.repository = :repository
    AND s.branch = :branch AND s.experiment_environment = :experiment_environment
), wanted AS MATERIALIZED (
  SELECT (SELECT prefix FROM scope_of) || (q.value ->> 0) AS word, q.value ->> 1 AS gain,
    (q.value ->> 2) + :heading_weight * (q.value ->> 3) AS tf
  FROM json_each(:words) AS q
), common AS MATERIALIZED (
  SELECT (SELECT prefix FROM scope_of) || (q.value ->> 0) AS word, q.value ->> 1 AS gain,
    (q.value ->> 2) + :heading_weight * (q.value ->> 3) AS tf
  FROM json_each(:rest) AS q
), part AS MATERIALIZED (
  -- CROSS: a plain JOIN lets the planner run the vocabulary table once per row instead of once per word.
  -- INDEXED BY: lengths from an index of a few bytes a row, not from the rows, which hold the texts.
  SELECT v.doc AS chunk, c.n_terms + :heading_weight * c.n_heading_terms AS length,
    sum(CAST(w.gain / (w.tf + :k1_short + :k1_long * (c.n_terms + :heading_weight * c.n_heading_terms)) + 0.5 AS INTEGER))
      AS score
  FROM wanted AS w
  CROSS JOIN chunk_term AS v ON v.term = w.word
  CROSS JOIN chunk AS c INDEXED BY chunk_size ON c.id = v.doc AND c.retired_revision IS NULL
  GROUP BY v.doc
), candidate AS MATERIALIZED (
  SELECT p.chunk AS chunk, p.length AS length, p.score AS score FROM part AS p
  WHERE p.score + :rest_bound >= coalesce((SELECT r.score FROM part AS r ORDER BY r.score DESC LIMIT 1 OFFSET :k - 1), 0)
), added AS MATERIALIZED (
  SELECT v.doc AS chunk, sum(CAST(w.gain / (w.tf + :k1_short + :k1_long * p.length) + 0.5 AS INTEGER)) AS score
  FROM common AS w
  CROSS JOIN chunk_term AS v ON v.term = w.word
  CROSS JOIN candidate AS p ON p.chunk = v.doc
  GROUP BY v.doc
), total AS MATERIALIZED (
  SELECT p.chunk AS chunk, p.score + coalesce(a.score, 0) AS score
  FROM candidate AS p LEFT JOIN added AS a ON a.chunk = p.chunk
), best AS MATERIALIZED (
  SELECT t.chunk AS chunk, t.score AS score, c.chunk_id AS chunk_id
  FROM total AS t
  CROSS JOIN chunk AS c ON c.id = t.chunk
  WHERE t.score >= coalesce((SELECT r.score FROM total AS r ORDER BY r.score DESC LIMIT 1 OFFSET :k - 1), 0)
  ORDER BY t.score DESC, c.chunk_id
  LIMIT :k
)
SELECT b.score AS score, (SELECT count(*) FROM part) AS matches, c.chunk_id AS chunk_id,
  c.content AS content, c.content_hash AS content_hash, c.heading AS heading, c.kind AS kind, c.locator AS locator, c.start_line AS start_line, c.end_line AS end_line,
  c.created_at AS created_at, v.source_ref AS source_ref, v.title AS title, v.reader AS reader,
  v.content_hash AS file_hash, v.path_in_root AS path_in_root, v.git_commit AS git_commit, v.git_state AS git_state,
  o.root_id AS root_id
FROM best AS b
CROSS JOIN chunk AS c ON c.id = b.chunk
CROSS JOIN source AS o ON o.id = c.source_id
CROSS JOIN source_version AS v ON v.source_id = o.id AND v.retired_revision IS NULL
ORDER BY b.score DESC, b.chunk_id;
