-- The vectors of a scope that are visible at some revision from :first to :last.
SELECT e.id AS id, e.scope_id AS scope_id, e.model AS model, e.chunk AS chunk, e.embed_hash AS embed_hash,
  e.vector AS vector, e.added_revision AS added_revision, e.retired_revision AS retired_revision
FROM source AS o
CROSS JOIN chunk AS c ON c.source_id = o.id AND c.added_revision <= :last
CROSS JOIN chunk_embedding AS e ON e.chunk = c.id AND e.added_revision <= :last
  AND (e.retired_revision IS NULL OR e.retired_revision > :first)
WHERE o.scope_id = :scope_id
ORDER BY e.id;
