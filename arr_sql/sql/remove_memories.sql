-- Erase these versions of memories (:ids is a JSON array of rows).
DELETE FROM memory WHERE id IN (SELECT j.value FROM json_each(:ids) AS j);
