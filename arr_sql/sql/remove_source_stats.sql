-- Erase what the file system said of these sources (:ids is a JSON array of sources).
DELETE FROM source_stat WHERE source_id IN (SELECT j.value FROM json_each(:ids) AS j);
