-- The hash of one event by its number, if there is such an event.
SELECT e.seq AS seq, e.hash AS hash FROM audit_event AS e WHERE e.seq = :seq;
