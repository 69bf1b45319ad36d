-- Which sources of one scope once had one of these names (:refs is a JSON array) and are called otherwise now?
SELECT DISTINCT v.source_ref AS source_ref, l.source_ref AS present, o.id AS id
FROM source AS o
CROSS JOIN source_version AS v ON v.source_id = o.id AND v.source_ref IN (SELECT j.value FROM json_each(:refs) AS j)
CROSS JOIN source_version AS l ON l.id = (
  SELECT n.id FROM source_version AS n WHERE n.source_id = o.id ORDER BY n.added_revision DESC LIMIT 1)
WHERE o.scope_id = :scope_id AND l.source_ref <> v.source_ref
ORDER BY v.source_ref, o.id;
