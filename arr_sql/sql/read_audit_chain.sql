-- The whole audit chain in order, with the scope values that its hashes cover.
SELECT e.seq AS seq, e.scope_id AS scope_id, e.scope_seq AS scope_seq, e.revision AS revision, e.at AS at,
  e.actor AS actor, e.kind AS kind, e.subject_kind AS subject_kind, e.subject_id AS subject_id,
  e.subject_hash AS subject_hash, e.details AS details, e.prev_hash AS prev_hash, e.hash AS hash,
  s.team_id AS team_id, s.project_id AS project_id, s.repository AS repository, s.branch AS branch,
  s.experiment_environment AS experiment_environment
FROM audit_event AS e LEFT JOIN scope AS s ON s.id = e.scope_id
ORDER BY e.seq;
