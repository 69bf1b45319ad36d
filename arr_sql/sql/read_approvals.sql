-- The packages of this scope with decision and receipt, newest first; of one id or of one case when these are given.
SELECT p.id AS id, p.scope_id AS scope_id, p.package_id AS package_id, p.case_id AS case_id, p.case_hash AS case_hash,
  p.payload AS payload, p.payload_hash AS payload_hash, p.risk_level AS risk_level, p.requested_by AS requested_by,
  p.requested_by_key AS requested_by_key, p.requested_at AS requested_at, p.expires_at AS expires_at,
  p.added_revision AS added_revision,
  d.outcome AS outcome, d.decided_by AS decided_by, d.decided_at AS decided_at, d.reason AS reason,
  d.payload_hash AS decided_hash, d.token_hash AS token_hash, d.added_revision AS decided_revision,
  v.receipt_id AS receipt_id, v.payload_hash AS receipt_payload_hash, v.status AS receipt_status, v.body AS body,
  v.body_hash AS body_hash, v.event_key AS event_key, v.recorded_by AS recorded_by, v.recorded_at AS recorded_at,
  v.added_revision AS recorded_revision
FROM scope AS s
JOIN approval_package AS p ON p.scope_id = s.id
LEFT JOIN approval_decision AS d ON d.scope_id = p.scope_id AND d.package_id = p.package_id
LEFT JOIN verification_receipt AS v ON v.scope_id = p.scope_id AND v.package_id = p.package_id
WHERE s.team_id = :team_id AND s.project_id = :project_id AND s.repository = :repository
  AND s.branch = :branch AND s.experiment_environment = :experiment_environment
  AND (:package_id IS NULL OR p.package_id = :package_id)
  AND (:case_id IS NULL OR p.case_id = :case_id)
ORDER BY p.requested_at DESC, p.id DESC;
