-- How many retrievals does the scope have?
SELECT coalesce(max(r.scope_seq), 0) AS scope_seq FROM retrieval AS r WHERE r.scope_id = :scope_id;
