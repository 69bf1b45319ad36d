-- Which chunks (row ids, as one text with commas) have each of these words of this scope? :words is a JSON array.
SELECT q.value AS word, (
  SELECT group_concat(v.doc) FROM chunk_term AS v
  WHERE v.term = (
    SELECT 's' || s.id || 'x' FROM scope AS s
    WHERE s.team_id = :team_id AND s.project_id = :project_id AND s.repository = :repository
      AND s.branch = :branch AND s.experiment_environment = :experiment_environment) || q.value
) AS chunks
FROM json_each(:words) AS q
ORDER BY q.key;
