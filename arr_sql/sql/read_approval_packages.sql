-- Every package of the file, to compare with the events that vouch for them.
SELECT p.id AS id, p.scope_id AS scope_id, p.package_id AS package_id, p.case_id AS case_id, p.case_hash AS case_hash,
  p.payload AS payload, p.payload_hash AS payload_hash, p.risk_level AS risk_level, p.requested_by AS requested_by,
  p.requested_by_key AS requested_by_key, p.requested_at AS requested_at, p.expires_at AS expires_at,
  p.added_revision AS added_revision
FROM approval_package AS p ORDER BY p.id;
