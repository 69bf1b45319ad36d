-- The chunks of one source as they stood at a revision, in order.
SELECT c.chunk_id AS chunk_id, c.heading AS heading, c.content AS content, c.content_hash AS content_hash,
  c.embed_hash AS embed_hash, c.kind AS kind, c.locator AS locator, c.start_line AS start_line, c.end_line AS end_line,
  c.ordinal AS ordinal
FROM chunk AS c
WHERE c.source_id = :source_id AND c.added_revision <= :revision
  AND (c.retired_revision IS NULL OR c.retired_revision > :revision)
ORDER BY c.ordinal, c.id;
