-- From which revision on, and until which, did other sources of one scope than :sources have one of the names :refs (both
-- JSON arrays)?
SELECT v.id AS id, v.source_id AS source_id, v.source_ref AS source_ref, v.added_revision AS added_revision,
  v.retired_revision AS retired_revision
FROM source AS o
CROSS JOIN source_version AS v ON v.source_id = o.id AND v.source_ref IN (SELECT j.value FROM json_each(:refs) AS j)
WHERE o.scope_id = :scope_id AND o.id NOT IN (SELECT j.value FROM json_each(:sources) AS j)
ORDER BY v.id;
