-- The source versions of a scope that are visible at some revision from :first to :last, with the file they belong to.
SELECT v.id AS id, v.scope_id AS scope_id, v.source_id AS source_id, o.root_id AS root_id, v.source_ref AS source_ref,
  v.path_in_root AS path_in_root, v.content_hash AS content_hash, v.size AS size, v.reader AS reader,
  v.reader_version AS reader_version, v.encoding AS encoding, v.encoding_confidence AS encoding_confidence,
  v.title AS title, v.language AS language, v.metadata AS metadata, v.warnings AS warnings,
  v.lines_withheld AS lines_withheld, v.git_commit AS git_commit, v.git_state AS git_state, v.n_chunks AS n_chunks,
  v.chunks_hash AS chunks_hash, v.created_at AS created_at, v.added_revision AS added_revision,
  v.retired_revision AS retired_revision
FROM source AS o
JOIN source_version AS v ON v.source_id = o.id AND v.added_revision <= :last
  AND (v.retired_revision IS NULL OR v.retired_revision > :first)
WHERE o.scope_id = :scope_id
ORDER BY v.id;
