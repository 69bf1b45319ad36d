-- What became of a package. The columns that repeat the package are held equal to it by a foreign key.
INSERT INTO approval_decision
  (scope_id, package_id, case_id, payload_hash, requested_by, requested_by_key, expires_at, outcome, decided_by,
   decided_by_key, decided_at, reason, token_hash, added_revision)
VALUES
  (:scope_id, :package_id, :case_id, :payload_hash, :requested_by, :requested_by_key, :expires_at, :outcome,
   :decided_by, :decided_by_key, :decided_at, :reason, :token_hash, :added_revision);
