-- The chunks of a scope that are visible at some revision from :first to :last. By way of their sources: an index has them.
SELECT c.id AS id, c.scope_id AS scope_id, c.source_id AS source_id, c.chunk_id AS chunk_id, c.ordinal AS ordinal,
  c.heading AS heading, c.content AS content, c.content_hash AS content_hash, c.embed_hash AS embed_hash,
  c.kind AS kind, c.locator AS locator, c.start_line AS start_line, c.end_line AS end_line, c.created_at AS created_at,
  c.added_revision AS added_revision, c.retired_revision AS retired_revision
FROM source AS o
CROSS JOIN chunk AS c ON c.source_id = o.id AND c.added_revision <= :last
  AND (c.retired_revision IS NULL OR c.retired_revision > :first)
WHERE o.scope_id = :scope_id
ORDER BY c.id;
