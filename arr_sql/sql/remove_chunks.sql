-- Erase these chunks (:ids is a JSON array). Physically: secure_delete is on.
DELETE FROM chunk WHERE id IN (SELECT j.value FROM json_each(:ids) AS j);
