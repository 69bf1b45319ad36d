-- Which usable memories of this scope are nearest to the query vector, and how near? Usable as in search_memory: published,
-- not expired at :now, applicable to the scope's environment, the winner of their conflict key; decided before anything is
-- ranked or cut. A loser is not found in place of a winner that has no vector yet. Distances as in search_vector.
WITH scope_of AS (
  SELECT s.id AS id FROM scope AS s
  WHERE s.team_id = :team_id AND s.project_id = :project_id AND s.repository = :repository
    AND s.branch = :branch AND s.experiment_environment = :experiment_environment
), usable AS MATERIALIZED (
  SELECT m.id AS id, m.memory_id AS memory_id, m.conflict_key AS conflict_key,
    row_number() OVER (
      PARTITION BY coalesce('k' || m.conflict_key, 'm' || m.memory_id)
      ORDER BY m.confidence DESC, m.updated_at DESC, m.memory_id
    ) AS place
  FROM memory AS m
  WHERE m.scope_id = (SELECT id FROM scope_of) AND m.status = 'published' AND m.retired_revision IS NULL
    AND (m.expires_at IS NULL OR m.expires_at > :now)
    AND (json_type(m.applicability, '$.experiment_environments') IS NULL
         OR EXISTS (SELECT 1 FROM json_each(m.applicability, '$.experiment_environments') AS a
                    WHERE a.value = :experiment_environment))
), near AS MATERIALIZED (
  SELECT e.id AS embedding, u.id AS memory, u.memory_id AS memory_id, u.conflict_key AS conflict_key,
    vec_distance_L2(e.vector, :vector) AS distance, count(*) OVER () AS compared
  FROM usable AS u
  CROSS JOIN memory_embedding AS e ON e.memory = u.id AND e.scope_id = (SELECT id FROM scope_of)
    AND e.model = :model AND e.retired_revision IS NULL
  WHERE u.place = 1
  ORDER BY distance, u.memory_id
  LIMIT :most
)
SELECT n.distance AS distance, n.compared AS compared, e.vector AS vector,
  m.memory_id AS memory_id, m.kind AS kind, m.title AS title, m.content AS content, m.content_hash AS content_hash,
  m.source_refs AS source_refs, m.confidence AS confidence, m.created_at AS created_at, m.added_revision AS revision,
  m.expires_at AS expires_at,
  (SELECT json_group_array(l.memory_id) FROM (
     SELECT u.memory_id AS memory_id FROM usable AS u
     WHERE u.conflict_key = n.conflict_key AND u.place > 1 ORDER BY u.place) AS l) AS conflict_losers
FROM near AS n
CROSS JOIN memory AS m ON m.id = n.memory
CROSS JOIN memory_embedding AS e ON e.id = n.embedding
ORDER BY n.distance, n.memory_id;
