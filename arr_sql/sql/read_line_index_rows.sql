-- Every row of every scope's index of lines, for `arr db check`.
SELECT f.scope_id AS scope_id, f.root_id AS root_id, f.path AS path, f.made_by AS made_by, f.device AS device, f.inode AS inode, f.mtime_ns AS mtime_ns,
  f.ctime_ns AS ctime_ns, f.rules AS rules, f.names AS names, f.marks AS marks, f.stats AS stats, f.lengths AS lengths,
  f.sieves AS sieves, f.check_sum AS check_sum
FROM line_index_folder AS f ORDER BY f.scope_id, f.root_id, f.path;
