-- How many erasures does the scope have?
SELECT coalesce(max(f.scope_seq), 0) AS scope_seq FROM forget_receipt AS f WHERE f.scope_id = :scope_id;
