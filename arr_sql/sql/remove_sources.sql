-- Erase these sources, once nothing points at them (:ids is a JSON array).
DELETE FROM source WHERE id IN (SELECT j.value FROM json_each(:ids) AS j);
