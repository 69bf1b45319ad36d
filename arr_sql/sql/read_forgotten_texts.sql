-- Which chunks and memories with one of these ids (:ids, a JSON array) were erased from this scope since a revision, and
-- which texts had they?
SELECT t.receipt AS receipt, t.number AS number, t.kind AS kind, t.subject_id AS subject_id, t.text_hash AS text_hash
FROM forget_receipt AS f
JOIN forget_subject AS t ON t.receipt = f.id
WHERE f.scope_id = :scope_id AND f.revision > :revision AND t.after_hash IS NULL AND t.kind IN ('chunk', 'memory')
  AND t.subject_id IN (SELECT j.value FROM json_each(:ids) AS j)
ORDER BY t.receipt, t.number;
