-- Erase every version of these sources (:ids is a JSON array of versions).
DELETE FROM source_version WHERE id IN (SELECT j.value FROM json_each(:ids) AS j);
