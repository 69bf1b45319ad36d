-- When did each chunk of the file begin and end, to compare with the events of its source?
SELECT c.id AS id, c.scope_id AS scope_id, o.scope_id AS source_scope_id, c.source_id AS source_id, c.chunk_id AS chunk_id,
  c.created_at AS created_at, c.added_revision AS added_revision, c.retired_revision AS retired_revision
FROM chunk AS c LEFT JOIN source AS o ON o.id = c.source_id ORDER BY c.id;
