-- How many events the scope has (IS, because events of the whole file have no scope).
SELECT coalesce(max(e.scope_seq), 0) AS scope_seq FROM audit_event AS e WHERE e.scope_id IS :scope_id;
