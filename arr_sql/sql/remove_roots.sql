-- Erase these roots, once nothing points at them (:ids is a JSON array).
DELETE FROM root WHERE id IN (SELECT j.value FROM json_each(:ids) AS j);
