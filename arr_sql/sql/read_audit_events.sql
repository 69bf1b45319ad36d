-- The last events of one scope, newest first.
SELECT e.seq AS seq, e.scope_seq AS scope_seq, e.revision AS revision, e.at AS at, e.actor AS actor, e.kind AS kind,
  e.subject_kind AS subject_kind, e.subject_id AS subject_id, e.subject_hash AS subject_hash, e.details AS details,
  e.prev_hash AS prev_hash, e.hash AS hash
FROM scope AS s
JOIN audit_event AS e ON e.scope_id = s.id
WHERE s.team_id = :team_id AND s.project_id = :project_id AND s.repository = :repository
  AND s.branch = :branch AND s.experiment_environment = :experiment_environment
  AND (:kind IS NULL OR e.kind = :kind)
ORDER BY e.scope_seq DESC
LIMIT :limit;
