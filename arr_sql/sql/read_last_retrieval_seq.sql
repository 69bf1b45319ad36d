-- The number of the scope's last retrieval. Where no record is left (the scope was forgotten), the log still knows it: an id
-- is given once.
SELECT coalesce(
  (SELECT max(r.scope_seq) FROM retrieval AS r WHERE r.scope_id = :scope_id),
  (SELECT CAST(substr(e.subject_id, 2) AS INTEGER) FROM audit_event AS e
   WHERE e.scope_id = :scope_id AND e.kind = 'retrieval' ORDER BY e.scope_seq DESC LIMIT 1),
  0) AS scope_seq;
