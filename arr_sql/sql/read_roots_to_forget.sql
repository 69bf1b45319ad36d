-- The roots of one scope that go: all when :roots is NULL, else those of a single file whose ids are listed (JSON).
SELECT r.id AS id, r.name AS name, r.path AS path, r.only_file AS only_file
FROM root AS r
WHERE r.scope_id = :scope_id
  AND (:roots IS NULL OR (r.only_file IS NOT NULL AND r.id IN (SELECT j.value FROM json_each(:roots) AS j)))
ORDER BY r.id;
