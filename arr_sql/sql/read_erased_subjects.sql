-- What has been erased in this scope under one of these ids (:ids is a JSON array)? Replay asks before it says row_erased.
SELECT t.kind AS kind, t.subject_id AS subject_id, t.text_hash AS text_hash, f.receipt_id AS receipt_id, t.number AS number
FROM scope AS s
JOIN forget_subject AS t ON t.scope_id = s.id AND t.subject_id IN (SELECT j.value FROM json_each(:ids) AS j)
  AND t.kind IN ('chunk', 'memory', 'retrieval', 'source_version', 'approval_package')
JOIN forget_receipt AS f ON f.id = t.receipt
WHERE s.team_id = :team_id AND s.project_id = :project_id AND s.repository = :repository
  AND s.branch = :branch AND s.experiment_environment = :experiment_environment
ORDER BY t.receipt, t.number;
