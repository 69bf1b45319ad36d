-- A sample of this scope's embedded chunks, to see in which direction the vectors of two scripts differ. Chunk ids are made
-- of hashes, so the first by id are a sample of the whole scope, and it is bounded: 512 chunks are read in a few milliseconds.
SELECT c.chunk_id AS chunk_id, c.heading AS heading, c.content AS content, e.vector AS vector
FROM chunk AS c
CROSS JOIN chunk_embedding AS e ON e.chunk = c.id AND e.scope_id = c.scope_id AND e.model = :model
  AND e.retired_revision IS NULL
WHERE c.scope_id = (SELECT s.id FROM scope AS s
    WHERE s.team_id = :team_id AND s.project_id = :project_id AND s.repository = :repository
      AND s.branch = :branch AND s.experiment_environment = :experiment_environment)
  AND c.retired_revision IS NULL
ORDER BY c.chunk_id
LIMIT :most;
