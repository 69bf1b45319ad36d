-- Which versions of sources of one scope have, or had, one of these names (:refs is a JSON array), and from when to when?
SELECT v.source_ref AS source_ref, v.source_id AS source_id, v.added_revision AS added_revision,
  v.retired_revision AS retired_revision, v.id AS id
FROM source AS o
CROSS JOIN source_version AS v ON v.source_id = o.id AND v.source_ref IN (SELECT j.value FROM json_each(:refs) AS j)
WHERE o.scope_id = :scope_id
ORDER BY v.source_ref, v.added_revision, v.id;
