-- Remove a scope's retrieval records up to :through (their number in the scope), once their evidence is gone.
DELETE FROM retrieval WHERE scope_id = :scope_id AND scope_seq <= :through;
