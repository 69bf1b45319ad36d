-- A root, copied as it is in the store.
INSERT INTO root (id, scope_id, name, path, is_inside_project, only_file, git_repository, git_branch, added_at)
VALUES (:id, :scope_id, :name, :path, :is_inside_project, :only_file, :git_repository, :git_branch, :added_at);
