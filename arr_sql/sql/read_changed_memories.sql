-- What became of the memories of a scope between two revisions: every version that begins or ends in between.
SELECT m.id AS id, m.memory_id AS memory_id, m.status AS status, m.title AS title, m.content_hash AS content_hash,
  m.added_revision AS added_revision, m.retired_revision AS retired_revision
FROM memory AS m
WHERE m.scope_id = :scope_id
  AND (m.added_revision BETWEEN :first + 1 AND :last OR m.retired_revision BETWEEN :first + 1 AND :last)
ORDER BY m.memory_id, m.added_revision, m.id;
