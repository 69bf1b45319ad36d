-- Which words does the chunk index of this scope have for these terms (a JSON array), and in how many chunks is each? As in
-- search_bm25_words, for who knows the scope's totals: counting those takes a millisecond for 10,000 chunks.
WITH scope_of AS MATERIALIZED (
  SELECT 's' || s.id || 'x' AS prefix FROM scope AS s
  WHERE s.team_id = :team_id AND s.project_id = :project_id AND s.repository = :repository
    AND s.branch = :branch AND s.experiment_environment = :experiment_environment
), word AS (
  SELECT q.value AS term, w.term AS word, w.doc AS df FROM scope_of AS p
  CROSS JOIN json_each(:terms) AS q CROSS JOIN chunk_term_row AS w ON w.term = p.prefix || q.value
  UNION ALL
  SELECT q.value AS term, w.term AS word, w.doc AS df FROM scope_of AS p
  CROSS JOIN json_each(:terms) AS q
  CROSS JOIN chunk_term_row AS w ON w.term > p.prefix || q.value || '^' AND w.term < p.prefix || q.value || '_'
)
SELECT f.term AS term, substr(f.word, 1 + length((SELECT prefix FROM scope_of))) AS word, f.df AS df
FROM word AS f
ORDER BY f.word;
