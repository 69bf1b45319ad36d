-- Files of which the cache of the file system's words is missing, or tells another size than the live version has.
SELECT o.scope_id AS scope_id, o.id AS id
FROM source AS o
LEFT JOIN source_stat AS t ON t.source_id = o.id
LEFT JOIN source_version AS v ON v.source_id = o.id AND v.retired_revision IS NULL
WHERE t.source_id IS NULL OR t.size <> v.size
ORDER BY o.id;
