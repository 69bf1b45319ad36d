-- From now on this scope keeps an index of lines; nothing happens when it does already.
INSERT INTO line_index (scope_id, n_folders, check_sums) VALUES (:scope_id, 0, 0) ON CONFLICT (scope_id) DO NOTHING;
