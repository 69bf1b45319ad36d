-- Which sources of one scope are (or, when they were removed, were last) called by one of these names? :refs is a JSON
-- array; NULL for all sources of the scope.
SELECT o.id AS id, o.root_id AS root_id, o.created_at AS created_at, r.only_file AS only_file, v.source_ref AS source_ref,
  v.path_in_root AS path_in_root, v.retired_revision AS retired_revision
FROM source AS o
JOIN root AS r ON r.id = o.root_id
JOIN source_version AS v ON v.id = (
  SELECT l.id FROM source_version AS l WHERE l.source_id = o.id ORDER BY l.added_revision DESC LIMIT 1)
WHERE o.scope_id = :scope_id AND (:refs IS NULL OR v.source_ref IN (SELECT j.value FROM json_each(:refs) AS j))
ORDER BY o.id;
