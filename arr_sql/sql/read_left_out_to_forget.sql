-- Which files that the last walks of one scope left out have one of these paths ([root_id, path] pairs as JSON)? All of
-- them when :paths is NULL.
SELECT l.root_id AS root_id, l.path_in_root AS path_in_root
FROM source_left_out AS l
WHERE l.scope_id = :scope_id AND (:paths IS NULL OR EXISTS (
  SELECT 1 FROM json_each(:paths) AS j
  WHERE json_extract(j.value, '$[0]') = l.root_id AND json_extract(j.value, '$[1]') = l.path_in_root))
ORDER BY l.root_id, l.path_in_root;
