-- Remove the evidence of a scope's records up to :through (their number in the scope).
DELETE FROM retrieval_evidence WHERE retrieval IN (
  SELECT r.id FROM retrieval AS r WHERE r.scope_id = :scope_id AND r.scope_seq <= :through);
