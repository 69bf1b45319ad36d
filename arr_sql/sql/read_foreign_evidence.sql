-- Items of evidence that stand under another scope than their retrieval.
SELECT r.scope_id AS scope_id, r.retrieval_id AS retrieval_id, e.rank AS rank
FROM retrieval AS r JOIN retrieval_evidence AS e ON e.retrieval = r.id
WHERE e.scope_id <> r.scope_id ORDER BY r.id, e.rank;
