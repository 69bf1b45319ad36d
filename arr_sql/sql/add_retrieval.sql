-- Keep one retrieval with all that is needed to run it again.
INSERT INTO retrieval
  (scope_id, scope_seq, retrieval_id, at, actor, query, query_hash, plan, plan_origin, limits, scope_revision,
   analyser_version, index_version, model_fingerprint, query_vectors, policy_hash, traces, rejections, degradations,
   partial, state, n_evidence, duration_ms, language_model, record_hash)
VALUES
  (:scope_id, :scope_seq, :retrieval_id, :at, :actor, :query, :query_hash, :plan, :plan_origin, :limits,
   :scope_revision, :analyser_version, :index_version, :model_fingerprint, :query_vectors, :policy_hash, :traces,
   :rejections, :degradations, :partial, :state, :n_evidence, :duration_ms, :language_model, :record_hash);
