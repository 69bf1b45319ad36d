-- Does a live chunk of this scope have this id already?
SELECT 1 AS is_taken FROM chunk AS c WHERE c.scope_id = :scope_id AND c.chunk_id = :chunk_id AND c.retired_revision IS NULL;
