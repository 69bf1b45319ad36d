-- When was the record of this retrieval pruned? The first pruning of its scope that went as far as this one (its event names
-- the last record that it took); none when it never was there.
SELECT p.at AS at, p.seq AS seq
FROM scope AS s
JOIN audit_event AS r ON r.subject_kind = 'retrieval' AND r.subject_id = :retrieval_id AND r.scope_id = s.id
  AND r.kind = 'retrieval'
JOIN audit_event AS p ON p.scope_id = s.id AND p.scope_seq > r.scope_seq AND p.kind = 'retrievals_pruned'
JOIN audit_event AS last ON last.subject_kind = 'retrieval' AND last.subject_id = p.subject_id AND last.scope_id = s.id
  AND last.kind = 'retrieval' AND last.scope_seq >= r.scope_seq
WHERE s.team_id = :team_id AND s.project_id = :project_id AND s.repository = :repository AND s.branch = :branch
  AND s.experiment_environment = :experiment_environment
ORDER BY p.seq LIMIT 1;
