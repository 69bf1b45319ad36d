-- What did erasures take away since, of that which this scope held at a revision? One row is enough to say so.
SELECT t.kind AS kind, t.subject_id AS subject_id, t.number AS number
FROM forget_receipt AS f
JOIN forget_subject AS t ON t.receipt = f.id
WHERE f.scope_id = :scope_id AND f.revision > :revision AND t.after_hash IS NULL AND (
  (t.kind = 'memory' AND t.revision <= :revision)
  OR (t.kind = 'source_version' AND EXISTS (
    SELECT 1 FROM audit_event AS e
    WHERE e.subject_kind = 'source_version' AND e.subject_id = t.subject_id AND e.scope_id = t.scope_id
      AND e.revision <= :revision AND e.subject_hash = t.before_hash)))
LIMIT 1;
