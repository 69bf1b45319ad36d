-- Which vectors of this scope are nearest to the query vector, and how near? An exact scan of the scope's own vectors
-- (unit length, so cosine = 1 - distance^2 / 2; L2 is measurably faster than cosine). Only ids leave it: carrying texts
-- through the sorting cost a fifth of the scan. The caller asks for more than it needs, because sums of 32 bits can swap
-- neighbours, and scores what it gets again in 64 bits.
WITH scope_of AS (
  SELECT s.id AS id FROM scope AS s
  WHERE s.team_id = :team_id AND s.project_id = :project_id AND s.repository = :repository
    AND s.branch = :branch AND s.experiment_environment = :experiment_environment
)
SELECT e.id AS id, vec_distance_L2(e.vector, :vector) AS distance
FROM chunk_embedding AS e
WHERE e.scope_id = (SELECT id FROM scope_of) AND e.model = :model AND e.retired_revision IS NULL
ORDER BY distance, e.id
LIMIT :most;
