-- What the last walk of a root left out, in order of the paths, for the event that vouches for the list.
SELECT l.path_in_root AS path_in_root, l.reason AS reason, l.size AS size, l.mtime_ns AS mtime_ns
FROM source_left_out AS l WHERE l.scope_id = :scope_id AND l.root_id = :root_id ORDER BY l.path_in_root;
