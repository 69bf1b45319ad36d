-- Does the store still have the text of one piece of evidence, and was it visible at a revision?
SELECT (SELECT count(*) FROM chunk AS c
        WHERE c.scope_id = :scope_id AND c.chunk_id = :chunk_id AND c.content_hash = :content_hash AND c.retired_revision IS NULL)
     + (SELECT count(*) FROM chunk AS c
        WHERE c.scope_id = :scope_id AND c.chunk_id = :chunk_id AND c.content_hash = :content_hash AND c.retired_revision IS NOT NULL)
     + (SELECT count(*) FROM memory AS m
        WHERE m.scope_id = :scope_id AND m.memory_id = substr(:chunk_id, 8) AND :chunk_id GLOB 'memory:*'
          AND m.content_hash = :content_hash) AS kept,
  (SELECT count(*) FROM chunk AS c WHERE c.scope_id = :scope_id AND c.chunk_id = :chunk_id AND c.retired_revision IS NULL)
     + (SELECT count(*) FROM chunk AS c WHERE c.scope_id = :scope_id AND c.chunk_id = :chunk_id AND c.retired_revision IS NOT NULL)
     + (SELECT count(*) FROM memory AS m
        WHERE m.scope_id = :scope_id AND m.memory_id = substr(:chunk_id, 8) AND :chunk_id GLOB 'memory:*') AS named;
