-- Which retrieval records of one scope are older than :before? The oldest without a gap, whatever a clock did in between,
-- and never the newest: the next record is numbered after it. Bytes are those of the values, without the pages around them.
SELECT r.scope_seq AS scope_seq, r.retrieval_id AS retrieval_id, r.record_hash AS record_hash, r.at AS at,
  r.n_evidence AS n_evidence,
  coalesce(length(CAST(r.query AS BLOB)), 0) + length(CAST(r.plan AS BLOB)) + length(CAST(r.limits AS BLOB)) + length(CAST(r.query_vectors AS BLOB))
    + length(CAST(r.traces AS BLOB)) + length(CAST(r.rejections AS BLOB)) + length(CAST(r.degradations AS BLOB)) + 320
    + coalesce((SELECT sum(length(CAST(e.channels AS BLOB)) + length(CAST(e.rerank_reason AS BLOB)) + length(CAST(e.source_ref AS BLOB))
      + length(CAST(e.locator AS BLOB)) + 120) FROM retrieval_evidence AS e WHERE e.retrieval = r.id), 0) AS bytes
FROM retrieval AS r
WHERE r.scope_id = :scope_id
  AND r.scope_seq < (SELECT max(n.scope_seq) FROM retrieval AS n WHERE n.scope_id = :scope_id)
  AND r.scope_seq < coalesce(
    (SELECT min(y.scope_seq) FROM retrieval AS y WHERE y.scope_id = :scope_id AND y.at >= :before), 9223372036854775807)
ORDER BY r.scope_seq;
