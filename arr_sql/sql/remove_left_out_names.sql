-- Erase the names of files that walks left out (:ids is a JSON array of [root_id, path_in_root] pairs).
DELETE FROM source_left_out
WHERE (root_id, path_in_root) IN (
  SELECT json_extract(j.value, '$[0]'), json_extract(j.value, '$[1]') FROM json_each(:ids) AS j);
