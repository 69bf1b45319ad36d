-- The roots of a scope that are there at :last, each with the revision of the event that says it was added (0: none says so).
SELECT r.id AS id, r.scope_id AS scope_id, r.name AS name, r.path AS path, r.is_inside_project AS is_inside_project,
  r.only_file AS only_file, r.git_repository AS git_repository, r.git_branch AS git_branch, r.added_at AS added_at,
  coalesce((SELECT min(e.revision) FROM audit_event AS e
            WHERE e.subject_kind = 'root' AND e.subject_id = CAST(r.id AS TEXT) AND e.kind = 'root_added'), 0) AS added_revision
FROM root AS r WHERE r.scope_id = :scope_id
  AND coalesce((SELECT min(e.revision) FROM audit_event AS e
                WHERE e.subject_kind = 'root' AND e.subject_id = CAST(r.id AS TEXT) AND e.kind = 'root_added'), 0) <= :last
ORDER BY r.id;
