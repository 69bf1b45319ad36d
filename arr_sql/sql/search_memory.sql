-- Which published memories of this scope match these terms best? BM25 as in search_bm25, over the usable memories only:
-- published, not expired at :now, applicable to the scope's environment, and the winner of their conflict key (higher
-- confidence, later update, smaller id). Usability is decided before anything is ranked or cut.
WITH scope_of AS (
  SELECT s.id AS id FROM scope AS s
  WHERE s.team_id = :team_id AND s.project_id = :project_id AND s.repository = :repository
    AND s.branch = :branch AND s.experiment_environment = :experiment_environment
), usable AS MATERIALIZED (
  SELECT m.id AS id, m.memory_id AS memory_id, m.conflict_key AS conflict_key,
    m.n_terms + :heading_weight * m.n_heading_terms AS n_terms,
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
), stat AS MATERIALIZED (
  SELECT count(*) AS n, avg(u.n_terms) AS avg_terms FROM usable AS u WHERE u.place = 1
), posting AS MATERIALIZED (
  SELECT q.key AS term, q.value AS weight, v.doc AS memory,
    sum(CASE v.col WHEN 'heading' THEN :heading_weight ELSE 1.0 END) AS tf
  -- CROSS and IN, not JOIN: the planner would run the vocabulary table once per memory (2,000 memories took 40 s).
  FROM json_each(:terms) AS q
  CROSS JOIN memory_term AS v ON v.term = 's' || (SELECT id FROM scope_of) || 'x' || q.key
    AND v.doc IN (SELECT u.id FROM usable AS u WHERE u.place = 1)
  GROUP BY q.key, v.doc
), idf AS MATERIALIZED (
  SELECT p.term AS term, ln(1 + ((SELECT n FROM stat) - count(*) + 0.5) / (count(*) + 0.5)) AS idf
  FROM posting AS p GROUP BY p.term
), best AS MATERIALIZED (
  SELECT p.memory AS memory, u.memory_id AS memory_id, u.conflict_key AS conflict_key,
    sum(p.weight * i.idf * p.tf * (:k1 + 1)
        / (p.tf + :k1 * (1 - :b + :b * u.n_terms / (SELECT avg_terms FROM stat)))) AS score
  FROM posting AS p
  JOIN idf AS i ON i.term = p.term
  JOIN usable AS u ON u.id = p.memory
  GROUP BY p.memory
  ORDER BY score DESC, u.memory_id
  LIMIT :k
)
SELECT b.score AS score, (SELECT count(DISTINCT p.memory) FROM posting AS p) AS matches,
  m.memory_id AS memory_id, m.kind AS kind, m.title AS title, m.content AS content, m.content_hash AS content_hash,
  m.source_refs AS source_refs, m.confidence AS confidence, m.created_at AS created_at, m.added_revision AS revision,
  m.expires_at AS expires_at,
  (SELECT json_group_array(l.memory_id) FROM (
     SELECT u.memory_id AS memory_id FROM usable AS u
     WHERE u.conflict_key = b.conflict_key AND u.place > 1 ORDER BY u.place) AS l) AS conflict_losers
FROM best AS b
CROSS JOIN memory AS m ON m.id = b.memory
ORDER BY b.score DESC, b.memory_id;
