-- How long is each chunk of this scope, by row id?
SELECT c.id AS chunk, c.n_terms AS n_terms, c.n_heading_terms AS n_heading_terms
FROM scope AS s
CROSS JOIN chunk AS c INDEXED BY chunk_length ON c.scope_id = s.id AND c.retired_revision IS NULL
WHERE s.team_id = :team_id AND s.project_id = :project_id AND s.repository = :repository
  AND s.branch = :branch AND s.experiment_environment = :experiment_environment
ORDER BY c.id;
