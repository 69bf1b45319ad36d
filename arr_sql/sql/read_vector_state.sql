-- How many chunks and published memories does this scope have, and how many of them have a vector of which model? By
-- fingerprint, not by id: ids follow the order in which the whole file met the models, which is not this scope's to tell
-- (contract 2.3).
SELECT (SELECT count(*) FROM chunk AS c WHERE c.scope_id = s.id AND c.retired_revision IS NULL) AS chunks,
  (SELECT count(*) FROM memory AS p
   WHERE p.scope_id = s.id AND p.status = 'published' AND p.retired_revision IS NULL) AS memories,
  m.id AS model, m.model_id AS model_id, m.fingerprint AS fingerprint, m.canaries AS canaries, m.dimension AS dimension,
  (SELECT count(*) FROM chunk_embedding AS e
   WHERE e.scope_id = s.id AND e.model = m.id AND e.retired_revision IS NULL) AS embedded,
  (SELECT count(*) FROM memory_embedding AS e
   CROSS JOIN memory AS p ON p.id = e.memory AND p.status = 'published'
   WHERE e.scope_id = s.id AND e.model = m.id AND e.retired_revision IS NULL) AS memories_embedded
FROM scope AS s
LEFT JOIN embedding_model AS m ON EXISTS (
    SELECT 1 FROM chunk_embedding AS e WHERE e.scope_id = s.id AND e.model = m.id AND e.retired_revision IS NULL)
  OR EXISTS (
    SELECT 1 FROM memory_embedding AS e WHERE e.scope_id = s.id AND e.model = m.id AND e.retired_revision IS NULL)
WHERE s.team_id = :team_id AND s.project_id = :project_id AND s.repository = :repository
  AND s.branch = :branch AND s.experiment_environment = :experiment_environment
ORDER BY m.fingerprint;
