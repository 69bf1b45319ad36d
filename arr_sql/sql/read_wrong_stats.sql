-- Live files of which the cache of the file system's words is missing or tells another size.
SELECT v.scope_id AS scope_id, v.source_ref AS source_ref, v.id AS id
FROM source_version AS v LEFT JOIN source_stat AS t ON t.source_id = v.source_id
WHERE v.retired_revision IS NULL AND (t.source_id IS NULL OR t.size <> v.size)
ORDER BY v.id;
