-- Erase these retrieval records (:ids is a JSON array).
DELETE FROM retrieval WHERE id IN (SELECT j.value FROM json_each(:ids) AS j);
