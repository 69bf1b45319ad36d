-- Take folders of a root out of the index of lines: :paths is a JSON array, NULL for all of them.
DELETE FROM line_index_folder
WHERE scope_id = :scope_id AND (:root_id IS NULL OR root_id = :root_id)
  AND (:paths IS NULL OR path IN (SELECT j.value FROM json_each(:paths) AS j));
