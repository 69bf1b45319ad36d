-- Erase the evidence of these retrieval records (:ids is a JSON array of records).
DELETE FROM retrieval_evidence WHERE retrieval IN (SELECT j.value FROM json_each(:ids) AS j);
