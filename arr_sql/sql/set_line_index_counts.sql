-- Note how many folders a scope's index of lines holds now, and the sum of their check sums.
UPDATE line_index SET
  n_folders = (SELECT count(f.path) FROM line_index_folder AS f WHERE f.scope_id = :scope_id),
  check_sums = (SELECT coalesce(sum(f.check_sum), 0) FROM line_index_folder AS f WHERE f.scope_id = :scope_id)
WHERE scope_id = :scope_id;
