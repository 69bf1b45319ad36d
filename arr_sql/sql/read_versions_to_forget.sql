-- Every version of these sources (:sources is a JSON array of row ids), with all that an event vouches for.
SELECT v.id AS id, v.source_id AS source_id, v.source_ref AS source_ref, v.path_in_root AS path_in_root,
  v.content_hash AS content_hash, v.size AS size, v.reader AS reader, v.reader_version AS reader_version,
  v.encoding AS encoding, v.encoding_confidence AS encoding_confidence, v.title AS title, v.language AS language,
  v.metadata AS metadata, v.warnings AS warnings, v.lines_withheld AS lines_withheld, v.git_commit AS git_commit,
  v.git_state AS git_state, v.n_chunks AS n_chunks, v.chunks_hash AS chunks_hash, v.created_at AS created_at,
  v.added_revision AS added_revision
FROM json_each(:sources) AS j
CROSS JOIN source_version AS v ON v.source_id = j.value
ORDER BY v.id;
