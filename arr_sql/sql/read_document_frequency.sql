-- In how many chunks of this scope does each of these terms occur? :terms is a JSON array.
SELECT q.value AS term, count(DISTINCT v.doc) AS df
FROM json_each(:terms) AS q
CROSS JOIN chunk_term AS v ON v.term = 's' || (
  SELECT s.id FROM scope AS s
  WHERE s.team_id = :team_id AND s.project_id = :project_id AND s.repository = :repository
    AND s.branch = :branch AND s.experiment_environment = :experiment_environment) || 'x' || q.value
GROUP BY q.value
ORDER BY q.value;
