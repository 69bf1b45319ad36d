-- One root, whole: what the event that adds it vouches for.
SELECT r.id AS id, r.scope_id AS scope_id, r.name AS name, r.path AS path, r.is_inside_project AS is_inside_project,
  r.only_file AS only_file, r.git_repository AS git_repository, r.git_branch AS git_branch, r.added_at AS added_at
FROM root AS r WHERE r.id = :id;
