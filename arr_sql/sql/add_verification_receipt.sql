-- The receipt of an approved package: the only statement that writes one.
INSERT INTO verification_receipt
  (scope_id, package_id, case_id, payload_hash, token_hash, receipt_id, status, body, body_hash, event_key,
   recorded_by, recorded_at, added_revision)
VALUES
  (:scope_id, :package_id, :case_id, :payload_hash, :token_hash, :receipt_id, :status, :body, :body_hash, :event_key,
   :recorded_by, :recorded_at, :added_revision);
