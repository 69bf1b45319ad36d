-- The end of the audit chain: what the next event must follow.
SELECT e.seq AS seq, e.hash AS hash, e.at AS at FROM audit_event AS e ORDER BY e.seq DESC LIMIT 1;
