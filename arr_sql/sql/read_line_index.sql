-- Does this scope keep an index of lines, of how many folders, and how many bytes are its sieves?
SELECT l.scope_id AS scope_id, count(f.path) AS folders, coalesce(sum(length(f.sieves)), 0) AS bytes
FROM scope AS s
CROSS JOIN line_index AS l ON l.scope_id = s.id
LEFT JOIN line_index_folder AS f ON f.scope_id = s.id
WHERE s.team_id = :team_id AND s.project_id = :project_id AND s.repository = :repository
  AND s.branch = :branch AND s.experiment_environment = :experiment_environment
GROUP BY l.scope_id;
