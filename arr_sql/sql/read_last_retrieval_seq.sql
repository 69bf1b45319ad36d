-- Which number did the scope's last retrieval have? After all of its records were forgotten the audit log still knows: its
-- events are read from the end until the first of a retrieval (the id begins with r and the number).
SELECT coalesce(
  (SELECT max(r.scope_seq) FROM retrieval AS r WHERE r.scope_id = :scope_id),
  (SELECT CAST(substr(e.subject_id, 2) AS INTEGER) FROM audit_event AS e
   WHERE e.scope_id = :scope_id AND e.kind = 'retrieval' ORDER BY e.scope_seq DESC LIMIT 1),
  0) AS scope_seq;
