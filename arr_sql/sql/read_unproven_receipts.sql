-- Which erasures of one scope were interrupted before the bytes of this database were read?
SELECT f.id AS id, f.receipt_id AS receipt_id
FROM forget_receipt AS f
WHERE f.scope_id = :scope_id
  AND NOT EXISTS (SELECT 1 FROM forget_scan AS c WHERE c.receipt = f.id AND c.file_kind = 'database')
ORDER BY f.id;
