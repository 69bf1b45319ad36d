-- Trust a folder (or one file of it) for this scope.
INSERT INTO root (scope_id, name, path, is_inside_project, only_file, git_repository, git_branch, added_at)
VALUES (:scope_id, :name, :path, :is_inside_project, :only_file, :git_repository, :git_branch, :added_at);
