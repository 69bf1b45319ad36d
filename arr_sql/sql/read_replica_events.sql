-- Where were copies of the file begun, ended and purged, when, and by whom? In order.
SELECT e.seq AS seq, e.at AS at, e.actor AS actor, e.kind AS kind, e.subject_id AS subject_id, e.details AS details
FROM audit_event AS e
WHERE e.subject_kind = 'replica'
ORDER BY e.seq;
