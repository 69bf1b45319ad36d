-- What does one scope hold only so that the past can be run again: earlier chunks and vectors, and how many bytes of text
-- and vectors are these?
SELECT
  (SELECT count(*) FROM chunk AS c WHERE c.scope_id = :scope_id AND c.retired_revision IS NOT NULL) AS chunks,
  (SELECT coalesce(sum(length(CAST(c.content AS BLOB)) + length(CAST(c.heading AS BLOB))), 0) FROM chunk AS c
   WHERE c.scope_id = :scope_id AND c.retired_revision IS NOT NULL) AS chunk_bytes,
  count(e.id) AS vectors, coalesce(sum(length(e.vector)), 0) AS vector_bytes
FROM source AS s
JOIN chunk AS k ON k.source_id = s.id
JOIN chunk_embedding AS e ON e.chunk = k.id
WHERE s.scope_id = :scope_id AND e.retired_revision IS NOT NULL
LIMIT 1;
