-- Where was the clock set back, after this event of the file? Two writers that wait for each other write their times out of
-- order too, by as much as one waits (5 s): only more than twice that counts.
SELECT e.seq AS seq
FROM audit_event AS e
JOIN audit_event AS before ON before.seq = e.seq - 1
WHERE e.seq > :since AND julianday(e.at) < julianday(before.at) - 10.0 / 86400
ORDER BY e.seq;
