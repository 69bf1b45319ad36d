-- What do the chunks of this scope with these row ids (a JSON array) say? Texts only: search_chunks_by_row gives the few that
-- are returned whole.
SELECT c.id AS chunk, c.content AS content
FROM scope AS s
CROSS JOIN json_each(:chunks) AS p
CROSS JOIN chunk AS c ON c.id = p.value AND c.scope_id = s.id AND c.retired_revision IS NULL
WHERE s.team_id = :team_id AND s.project_id = :project_id AND s.repository = :repository
  AND s.branch = :branch AND s.experiment_environment = :experiment_environment
ORDER BY c.id;
