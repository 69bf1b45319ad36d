-- The live chunks of one source in order.
SELECT c.id AS id, c.chunk_id AS chunk_id, c.ordinal AS ordinal, c.heading AS heading, c.content AS content,
  c.content_hash AS content_hash, c.embed_hash AS embed_hash, c.kind AS kind, c.locator AS locator,
  c.start_line AS start_line, c.end_line AS end_line, c.terms_hash AS terms_hash
FROM chunk AS c WHERE c.source_id = :source_id AND c.retired_revision IS NULL ORDER BY c.ordinal, c.id;
