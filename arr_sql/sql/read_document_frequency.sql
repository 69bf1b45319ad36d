-- In how many chunks of this scope does each of these terms occur? :terms is a JSON array. A term with other frequencies
-- than once in the body is a word of its own (term^body,heading), and '_' is the sign after '^'.
WITH scope_of AS MATERIALIZED (
  SELECT 's' || s.id || 'x' AS prefix FROM scope AS s
  WHERE s.team_id = :team_id AND s.project_id = :project_id AND s.repository = :repository
    AND s.branch = :branch AND s.experiment_environment = :experiment_environment
), word AS (
  SELECT q.value AS term, w.doc AS df FROM scope_of AS p
  CROSS JOIN json_each(:terms) AS q CROSS JOIN chunk_term_row AS w ON w.term = p.prefix || q.value
  UNION ALL
  SELECT q.value AS term, w.doc AS df FROM scope_of AS p
  CROSS JOIN json_each(:terms) AS q
  CROSS JOIN chunk_term_row AS w ON w.term > p.prefix || q.value || '^' AND w.term < p.prefix || q.value || '_'
)
SELECT f.term AS term, sum(f.df) AS df FROM word AS f GROUP BY f.term ORDER BY f.term;
