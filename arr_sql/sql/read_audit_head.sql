-- The end of the audit log: the last event, its hash, and how many events there are.
SELECT e.seq AS seq, e.hash AS hash, (SELECT count(*) FROM audit_event AS a) AS events
FROM audit_event AS e ORDER BY e.seq DESC LIMIT 1;
