-- Every decision of the file, to compare with the events that vouch for them.
SELECT d.id AS id, d.scope_id AS scope_id, d.package_id AS package_id, d.case_id AS case_id,
  d.payload_hash AS payload_hash, d.requested_by AS requested_by, d.requested_by_key AS requested_by_key,
  d.expires_at AS expires_at, d.outcome AS outcome, d.decided_by AS decided_by, d.decided_by_key AS decided_by_key,
  d.decided_at AS decided_at, d.reason AS reason, d.token_hash AS token_hash, d.added_revision AS added_revision
FROM approval_decision AS d ORDER BY d.id;
