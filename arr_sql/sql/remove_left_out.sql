-- Forget the last walk's list of what was left out, before the new one is written.
DELETE FROM source_left_out WHERE scope_id = :scope_id AND root_id = :root_id;
