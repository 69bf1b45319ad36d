-- Erase the name of one file that a walk left out.
DELETE FROM source_left_out WHERE scope_id = :scope_id AND root_id = :root_id AND path_in_root = :path_in_root;
