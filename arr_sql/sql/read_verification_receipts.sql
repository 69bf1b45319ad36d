-- Every receipt of the file, to compare with the events that vouch for them.
SELECT v.id AS id, v.scope_id AS scope_id, v.package_id AS package_id, v.case_id AS case_id,
  v.payload_hash AS payload_hash, v.token_hash AS token_hash, v.receipt_id AS receipt_id, v.status AS status,
  v.body AS body, v.body_hash AS body_hash, v.event_key AS event_key, v.recorded_by AS recorded_by,
  v.recorded_at AS recorded_at, v.added_revision AS added_revision
FROM verification_receipt AS v ORDER BY v.id;
