-- The vectors of a scope's memories that are visible at some revision from :first to :last.
SELECT e.id AS id, e.scope_id AS scope_id, e.model AS model, e.memory AS memory, e.embed_hash AS embed_hash,
  e.vector AS vector, e.added_revision AS added_revision, e.retired_revision AS retired_revision
FROM memory AS m
CROSS JOIN memory_embedding AS e ON e.memory = m.id AND e.added_revision <= :last
  AND (e.retired_revision IS NULL OR e.retired_revision > :first)
WHERE m.scope_id = :scope_id AND m.added_revision <= :last
ORDER BY e.id;
