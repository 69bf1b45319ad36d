-- A value that every committed write moves: the end of the audit chain.
SELECT coalesce((SELECT e.hash FROM audit_event AS e ORDER BY e.seq DESC LIMIT 1), '') AS head;
