-- Did an erasure, later than a revision of one scope, take away this very text (:kind chunk or memory, its id, its hash)?
SELECT t.receipt AS receipt, t.number AS number
FROM forget_subject AS t
JOIN forget_receipt AS f ON f.id = t.receipt
WHERE t.scope_id = :scope_id AND t.kind = :kind AND t.subject_id = :subject_id AND t.text_hash = :text_hash
  AND t.after_hash IS NULL AND f.revision > :revision
LIMIT 1;
