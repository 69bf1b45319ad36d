-- Which kinds of events does one scope have, each with its last one?
SELECT e.kind AS kind, max(e.seq) AS seq FROM audit_event AS e WHERE e.scope_id = :scope_id GROUP BY e.kind
ORDER BY e.kind, seq;
