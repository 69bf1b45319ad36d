-- Which score has the :k-th best chunk of this scope by these words alone? A chunk that can't reach it is not among the
-- best :k by all words. :words and the score are those of search_bm25.
WITH scope_of AS MATERIALIZED (
  SELECT 's' || s.id || 'x' AS prefix FROM scope AS s
  WHERE s.team_id = :team_id AND s.project_id = :project_id AND s.repository = :repository
    AND s.branch = :branch AND s.experiment_environment = :experiment_environment
), wanted AS MATERIALIZED (
  SELECT (SELECT prefix FROM scope_of) || (q.value ->> 0) AS word, q.value ->> 1 AS gain,
    (q.value ->> 2) + :heading_weight * (q.value ->> 3) AS tf
  FROM json_each(:words) AS q
)
SELECT v.doc AS chunk,
  sum(CAST(w.gain / (w.tf + :k1_short + :k1_long * (c.n_terms + :heading_weight * c.n_heading_terms)) + 0.5 AS INTEGER))
    AS score
FROM wanted AS w
CROSS JOIN chunk_term AS v ON v.term = w.word
CROSS JOIN chunk AS c INDEXED BY chunk_size ON c.id = v.doc AND c.retired_revision IS NULL
GROUP BY v.doc
ORDER BY score DESC, chunk
LIMIT 1 OFFSET :k - 1;
