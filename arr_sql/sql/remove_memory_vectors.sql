-- Erase these vectors of memories (:ids is a JSON array). Physically: secure_delete is on.
DELETE FROM memory_embedding WHERE id IN (SELECT j.value FROM json_each(:ids) AS j);
