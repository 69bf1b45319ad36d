-- The approval packages of these memories of one scope (:memory_ids is a JSON array; NULL for all), each with its
-- decision and verification receipt.
SELECT p.id AS id, p.package_id AS package_id, p.case_id AS case_id, p.payload AS payload, p.payload_hash AS payload_hash,
  d.id AS decision, d.reason AS reason, v.id AS receipt, v.event_key AS event_key, v.body AS body, v.body_hash AS body_hash
FROM approval_package AS p
LEFT JOIN approval_decision AS d ON d.scope_id = p.scope_id AND d.package_id = p.package_id
LEFT JOIN verification_receipt AS v ON v.scope_id = p.scope_id AND v.package_id = p.package_id
WHERE p.scope_id = :scope_id
  AND (:memory_ids IS NULL OR p.case_id IN (SELECT j.value FROM json_each(:memory_ids) AS j))
ORDER BY p.id;
