-- Which records of one scope asked one of these texts (as the query or as a call's rewritten query), have one of these
-- ids, or returned evidence of a forgotten file: one of these chunks ([chunk_id, content_hash] pairs), or a line without a
-- chunk under a name while it meant that file (:spans, [name, first revision, revision after the last or null])? All of the
-- scope when :is_all. The others are JSON arrays.
SELECT r.id AS id, r.scope_seq AS scope_seq, r.retrieval_id AS retrieval_id, r.at AS at, r.actor AS actor,
  r.query AS query, r.query_hash AS query_hash, r.plan AS plan, r.plan_origin AS plan_origin, r.limits AS limits,
  r.scope_revision AS scope_revision, r.analyser_version AS analyser_version, r.index_version AS index_version,
  r.model_fingerprint AS model_fingerprint, r.query_vectors AS query_vectors, r.policy_hash AS policy_hash,
  r.traces AS traces, r.rejections AS rejections, r.degradations AS degradations, r.partial AS partial,
  r.state AS state, r.n_evidence AS n_evidence, r.duration_ms AS duration_ms, r.language_model AS language_model,
  r.record_hash AS record_hash,
  (r.retrieval_id IN (SELECT j.value FROM json_each(:queries) AS j)
   OR r.query IN (SELECT j.value FROM json_each(:queries) AS j)
   OR r.query_hash IN (SELECT j.value FROM json_each(:query_hashes) AS j)) AS is_asked
FROM retrieval AS r
WHERE r.scope_id = :scope_id AND (
  :is_all
  OR r.retrieval_id IN (SELECT j.value FROM json_each(:queries) AS j)
  OR r.query IN (SELECT j.value FROM json_each(:queries) AS j)
  OR r.query_hash IN (SELECT j.value FROM json_each(:query_hashes) AS j)
  OR EXISTS (SELECT 1 FROM json_tree(r.plan, '$.tool_rounds') AS p
             WHERE p.key = 'query' AND p.atom IN (SELECT j.value FROM json_each(:queries) AS j))
  OR EXISTS (SELECT 1 FROM retrieval_evidence AS e
             WHERE e.retrieval = r.id AND (
               (e.chunk_id, e.content_hash) IN (
                 SELECT json_extract(j.value, '$[0]'), json_extract(j.value, '$[1]') FROM json_each(:chunks) AS j)
               OR (e.chunk_id GLOB 'g*'
                 AND e.source_ref IN (SELECT json_extract(j.value, '$[0]') FROM json_each(:spans) AS j)
                 AND EXISTS (
                   SELECT 1 FROM json_each(:spans) AS j
                   WHERE json_extract(j.value, '$[0]') = e.source_ref AND r.scope_revision >= json_extract(j.value, '$[1]')
                     AND r.scope_revision < coalesce(json_extract(j.value, '$[2]'), 9223372036854775807))))))
ORDER BY r.id;
