-- Which files that the last walks of one scope left out have one of these names (:refs is a JSON array)? NULL for all.
SELECT l.root_id AS root_id, l.path_in_root AS path_in_root
FROM root AS r
JOIN source_left_out AS l ON l.scope_id = r.scope_id AND l.root_id = r.id
WHERE r.scope_id = :scope_id AND (:refs IS NULL OR CASE r.name WHEN '' THEN '' ELSE r.name || '/' END || l.path_in_root
  IN (SELECT j.value FROM json_each(:refs) AS j))
ORDER BY l.root_id, l.path_in_root;
