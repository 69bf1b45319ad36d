-- Every retrieval record of the file, to compare with the events that vouch for them.
SELECT r.id AS id, r.scope_id AS scope_id, r.scope_seq AS scope_seq, r.retrieval_id AS retrieval_id, r.at AS at,
  r.actor AS actor, r.query AS query, r.query_hash AS query_hash, r.plan AS plan, r.plan_origin AS plan_origin,
  r.limits AS limits, r.scope_revision AS scope_revision, r.analyser_version AS analyser_version,
  r.index_version AS index_version, r.model_fingerprint AS model_fingerprint, r.query_vectors AS query_vectors,
  r.policy_hash AS policy_hash, r.traces AS traces, r.rejections AS rejections, r.degradations AS degradations,
  r.partial AS partial, r.state AS state, r.n_evidence AS n_evidence, r.duration_ms AS duration_ms,
  r.language_model AS language_model,
  r.record_hash AS record_hash
FROM retrieval AS r ORDER BY r.id;
