-- What became of the sources of a scope between two revisions: every version that begins or ends in between.
SELECT v.id AS id, v.source_id AS source_id, v.source_ref AS source_ref, v.content_hash AS content_hash,
  v.added_revision AS added_revision, v.retired_revision AS retired_revision
FROM source AS o
JOIN source_version AS v ON v.source_id = o.id
WHERE o.scope_id = :scope_id
  AND (v.added_revision BETWEEN :first + 1 AND :last OR v.retired_revision BETWEEN :first + 1 AND :last)
ORDER BY v.source_id, v.added_revision, v.id;
