-- Which hash does the audit log hold of this row now?
SELECT e.subject_hash AS subject_hash
FROM audit_event AS e
WHERE e.subject_kind = :kind AND e.subject_id = :subject_id AND e.scope_id = :scope_id AND e.subject_hash <> ''
ORDER BY e.seq DESC LIMIT 1;
