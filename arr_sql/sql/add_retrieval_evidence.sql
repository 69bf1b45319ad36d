-- One returned item of a retrieval.
INSERT INTO retrieval_evidence
  (retrieval, rank, scope_id, chunk_id, content_hash, source_ref, locator, channels, rrf_score, rerank_score,
   rerank_reason, freshness)
VALUES
  (:retrieval, :rank, :scope_id, :chunk_id, :content_hash, :source_ref, :locator, :channels, :rrf_score,
   :rerank_score, :rerank_reason, :freshness);
