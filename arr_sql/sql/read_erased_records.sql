-- Which retrieval records of one scope were rewritten by an erasure, so that a text of theirs may be gone?
SELECT t.subject_id AS retrieval_id, t.receipt AS receipt, t.number AS number FROM forget_subject AS t
WHERE t.scope_id = :scope_id AND t.kind = 'retrieval' AND t.after_hash IS NOT NULL
ORDER BY t.receipt, t.number;
