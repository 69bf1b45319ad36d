-- How was each live source of a scope read, and how much of it is indexed?
SELECT v.id AS id, v.source_ref AS source_ref, o.root_id AS root_id, v.path_in_root AS path_in_root,
  v.content_hash AS content_hash, v.size AS size, v.reader AS reader, v.encoding AS encoding,
  v.encoding_confidence AS encoding_confidence, v.title AS title, v.warnings AS warnings,
  v.lines_withheld AS lines_withheld, v.git_state AS git_state, v.n_chunks AS chunks,
  (SELECT count(*) FROM chunk AS c
   WHERE c.source_id = v.source_id AND c.retired_revision IS NULL
     AND EXISTS (SELECT 1 FROM chunk_embedding AS e WHERE e.chunk = c.id AND e.retired_revision IS NULL)) AS embedded
FROM source AS o
JOIN source_version AS v ON v.source_id = o.id AND v.retired_revision IS NULL
WHERE o.scope_id = :scope_id
ORDER BY v.source_ref, v.id;
