-- What does this scope hold?
SELECT s.revision AS revision, s.content_revision AS content_revision,
  (SELECT count(*) FROM source_version AS v WHERE v.scope_id = s.id AND v.retired_revision IS NULL) AS sources,
  (SELECT count(*) FROM chunk AS c WHERE c.scope_id = s.id AND c.retired_revision IS NULL) AS chunks,
  (SELECT coalesce(sum(v.size), 0) FROM source_version AS v WHERE v.scope_id = s.id AND v.retired_revision IS NULL) AS bytes,
  (SELECT count(*) FROM retrieval AS r WHERE r.scope_id = s.id) AS retrievals,
  (SELECT count(*) FROM audit_event AS e WHERE e.scope_id = s.id) AS events,
  (SELECT json_group_object(g.status, g.n) FROM (
     SELECT m.status AS status, count(*) AS n FROM memory AS m
     WHERE m.scope_id = s.id AND m.retired_revision IS NULL GROUP BY m.status) AS g) AS memories,
  (SELECT json_group_object(g.reason, g.n) FROM (
     SELECT l.reason AS reason, count(*) AS n FROM source_left_out AS l WHERE l.scope_id = s.id GROUP BY l.reason) AS g) AS left_out,
  (SELECT coalesce(sum(v.lines_withheld), 0) FROM source_version AS v
   WHERE v.scope_id = s.id AND v.retired_revision IS NULL) AS lines_withheld
FROM scope AS s
WHERE s.team_id = :team_id AND s.project_id = :project_id AND s.repository = :repository
  AND s.branch = :branch AND s.experiment_environment = :experiment_environment;
