-- Which published memories of this scope have no vector of this model yet? Texts in order of their rows.
SELECT m.id AS id, m.title AS heading, m.content AS content
FROM memory AS m
WHERE m.scope_id = :scope_id AND m.status = 'published' AND m.retired_revision IS NULL AND m.id > :after
  AND NOT EXISTS (SELECT 1 FROM memory_embedding AS e
    WHERE e.scope_id = m.scope_id AND e.model = :model AND e.memory = m.id AND e.retired_revision IS NULL)
ORDER BY m.id
LIMIT :limit;
