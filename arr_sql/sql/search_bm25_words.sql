-- Which words does the index of this scope have for these terms (a JSON array), and in how many chunks is each? A word is a
-- term, or a term with its frequencies (term^body,heading); '_' is the sign after '^'. The scope's totals are in each row.
-- Document frequencies come from the list of words: the postings themselves are not counted row by row.
WITH scope_of AS MATERIALIZED (
  SELECT s.id AS id, 's' || s.id || 'x' AS prefix FROM scope AS s
  WHERE s.team_id = :team_id AND s.project_id = :project_id AND s.repository = :repository
    AND s.branch = :branch AND s.experiment_environment = :experiment_environment
), total AS MATERIALIZED (
  SELECT count(*) AS chunks, sum(c.n_terms) AS terms, sum(c.n_heading_terms) AS heading_terms, min(c.n_terms) AS shortest
  FROM chunk AS c WHERE c.scope_id = (SELECT id FROM scope_of) AND c.retired_revision IS NULL
), word AS (
  SELECT q.value AS term, w.term AS word, w.doc AS df FROM scope_of AS p
  CROSS JOIN json_each(:terms) AS q CROSS JOIN chunk_term_row AS w ON w.term = p.prefix || q.value
  UNION ALL
  SELECT q.value AS term, w.term AS word, w.doc AS df FROM scope_of AS p
  CROSS JOIN json_each(:terms) AS q
  CROSS JOIN chunk_term_row AS w ON w.term > p.prefix || q.value || '^' AND w.term < p.prefix || q.value || '_'
)
SELECT f.term AS term, substr(f.word, 1 + length((SELECT prefix FROM scope_of))) AS word, f.df AS df,
  t.chunks AS chunks, t.terms AS terms, t.heading_terms AS heading_terms, t.shortest AS shortest
FROM total AS t CROSS JOIN word AS f
ORDER BY f.word;
