-- Erase these packages (:ids is a JSON array). The trigger lets go what a forget receipt names.
DELETE FROM approval_package WHERE id IN (SELECT j.value FROM json_each(:ids) AS j);
