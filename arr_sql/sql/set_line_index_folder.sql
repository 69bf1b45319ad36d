-- Write down what a folder holds, in place of what was known of it.
INSERT INTO line_index_folder (scope_id, root_id, path, made_by, device, inode, mtime_ns, ctime_ns, rules, names, marks, stats,
  lengths, sieves, check_sum)
VALUES (:scope_id, :root_id, :path, :made_by, :device, :inode, :mtime_ns, :ctime_ns, :rules, :names, :marks, :stats, :lengths,
  :sieves, :check_sum)
ON CONFLICT (scope_id, root_id, path) DO UPDATE SET made_by = excluded.made_by, device = excluded.device,
  inode = excluded.inode, mtime_ns = excluded.mtime_ns, ctime_ns = excluded.ctime_ns, rules = excluded.rules,
  names = excluded.names, marks = excluded.marks, stats = excluded.stats, lengths = excluded.lengths,
  sieves = excluded.sieves, check_sum = excluded.check_sum;
