-- How many folders each scope's index of lines says it holds, and the sum of their check sums, for `arr db check`.
SELECT l.scope_id AS scope_id, l.n_folders AS n_folders, l.check_sums AS check_sums
FROM line_index AS l ORDER BY l.rowid;
