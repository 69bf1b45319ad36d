-- How many live chunks of this scope have no vector of this model yet?
SELECT count(*) AS missing
FROM chunk AS c
WHERE c.scope_id = :scope_id AND c.retired_revision IS NULL
  AND NOT EXISTS (SELECT 1 FROM chunk_embedding AS e
    WHERE e.scope_id = c.scope_id AND e.model = :model AND e.chunk = c.id AND e.retired_revision IS NULL);
