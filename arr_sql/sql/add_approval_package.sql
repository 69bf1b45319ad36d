-- A new package: a frozen payload that waits for another person's decision.
INSERT INTO approval_package
  (scope_id, package_id, case_id, case_hash, payload, payload_hash, risk_level, requested_by, requested_by_key,
   requested_at, expires_at, added_revision)
VALUES
  (:scope_id, :package_id, :case_id, :case_hash, :payload, :payload_hash, :risk_level, :requested_by,
   :requested_by_key, :requested_at, :expires_at, :added_revision);
