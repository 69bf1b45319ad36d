-- Everything that the last walks left out, by root, to compare with the events that vouch for the lists.
SELECT l.scope_id AS scope_id, l.root_id AS root_id, l.path_in_root AS path_in_root, l.reason AS reason, l.size AS size,
  l.mtime_ns AS mtime_ns
FROM source_left_out AS l ORDER BY l.scope_id, l.root_id, l.path_in_root;
