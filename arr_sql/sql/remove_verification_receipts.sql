-- Erase these verification receipts (:ids is a JSON array). The trigger lets go what a forget receipt names.
DELETE FROM verification_receipt WHERE id IN (SELECT j.value FROM json_each(:ids) AS j);
