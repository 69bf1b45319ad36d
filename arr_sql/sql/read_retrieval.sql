-- One retrieval of this scope, whole. Ids are unique within a scope only.
SELECT r.id AS id, r.scope_seq AS scope_seq, r.retrieval_id AS retrieval_id, r.at AS at, r.actor AS actor,
  r.query AS query, r.query_hash AS query_hash, r.plan AS plan, r.plan_origin AS plan_origin, r.limits AS limits,
  r.scope_revision AS scope_revision, r.analyser_version AS analyser_version, r.index_version AS index_version,
  r.model_fingerprint AS model_fingerprint, r.query_vectors AS query_vectors, r.policy_hash AS policy_hash,
  r.traces AS traces, r.rejections AS rejections, r.degradations AS degradations, r.partial AS partial,
  r.state AS state, r.n_evidence AS n_evidence, r.duration_ms AS duration_ms, r.language_model AS language_model,
  r.record_hash AS record_hash
FROM scope AS s
JOIN retrieval AS r ON r.scope_id = s.id
WHERE s.team_id = :team_id AND s.project_id = :project_id AND s.repository = :repository
  AND s.branch = :branch AND s.experiment_environment = :experiment_environment
  AND (:retrieval_id IS NULL OR r.retrieval_id = :retrieval_id)
ORDER BY r.scope_seq DESC
LIMIT :limit;
