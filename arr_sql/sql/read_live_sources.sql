-- The live version of every source of a root, with what the file system said when it was read.
SELECT v.id AS id, v.source_id AS source_id, v.source_ref AS source_ref, v.path_in_root AS path_in_root,
  v.content_hash AS content_hash, v.reader AS reader, v.reader_version AS reader_version, t.size AS size, t.mtime_ns AS mtime_ns,
  t.read_at_ns AS read_at_ns
FROM source AS o
JOIN source_version AS v ON v.source_id = o.id AND v.retired_revision IS NULL
LEFT JOIN source_stat AS t ON t.source_id = o.id
WHERE o.scope_id = :scope_id AND o.root_id = :root_id
ORDER BY v.path_in_root;
