-- What did the last sync of a scope leave out, root by root, and why?
SELECT l.root_id AS root_id, l.path_in_root AS path_in_root, l.reason AS reason, l.size AS size
FROM source_left_out AS l
WHERE l.scope_id = :scope_id
ORDER BY l.root_id, l.path_in_root;
