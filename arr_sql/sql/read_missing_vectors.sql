-- How many live chunks and published memories of this scope have no vector of this model yet?
SELECT (SELECT count(*) FROM chunk AS c
    WHERE c.scope_id = :scope_id AND c.retired_revision IS NULL
      AND NOT EXISTS (SELECT 1 FROM chunk_embedding AS e
        WHERE e.scope_id = c.scope_id AND e.model = :model AND e.chunk = c.id AND e.retired_revision IS NULL))
  + (SELECT count(*) FROM memory AS m
    WHERE m.scope_id = :scope_id AND m.status = 'published' AND m.retired_revision IS NULL
      AND NOT EXISTS (SELECT 1 FROM memory_embedding AS e
        WHERE e.scope_id = m.scope_id AND e.model = :model AND e.memory = m.id AND e.retired_revision IS NULL)) AS missing;
