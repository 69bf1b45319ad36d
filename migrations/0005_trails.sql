CREATE VIEW audit_trail AS
-- Who did what, when, in which scope: the audit log with the five scope columns.
SELECT
  e.seq AS seq, e.at AS at, e.actor AS actor, e.kind AS kind, e.subject_kind AS subject_kind, e.subject_id AS subject_id,
  s.team_id AS team_id, s.project_id AS project_id, s.repository AS repository, s.branch AS branch,
  s.experiment_environment AS experiment_environment,
  e.scope_seq AS scope_seq, e.revision AS revision, e.details AS details,
  e.subject_hash AS subject_hash, e.prev_hash AS prev_hash, e.hash AS hash
FROM audit_event AS e LEFT JOIN scope AS s ON s.id = e.scope_id;

CREATE VIEW retrieval_trail AS
-- What was asked and how it was answered, one line a retrieval.
SELECT
  r.retrieval_id AS retrieval_id, r.at AS at, r.actor AS actor, coalesce(r.query, '(hash) ' || r.query_hash) AS query,
  r.state AS state, CASE r.partial WHEN 1 THEN 'partial' ELSE 'complete' END AS completeness,
  r.n_evidence AS evidence,
  (SELECT group_concat(e.rank || '. ' || e.source_ref || ' ' || e.locator, '; ')
   FROM retrieval_evidence AS e WHERE e.retrieval = r.id AND e.rank <= 3) AS first_three,
  (SELECT group_concat(DISTINCT json_extract(d.value, '$.code')) FROM json_each(r.degradations) AS d) AS degradations,
  (SELECT group_concat(DISTINCT json_extract(j.value, '$.code')) FROM json_each(r.rejections) AS j) AS rejections,
  round(r.duration_ms, 1) AS duration_ms,
  s.team_id AS team_id, s.project_id AS project_id, s.repository AS repository, s.branch AS branch,
  s.experiment_environment AS experiment_environment,
  r.scope_revision AS scope_revision, r.plan_origin AS plan_origin
FROM retrieval AS r JOIN scope AS s ON s.id = r.scope_id;

CREATE VIEW evidence_trail AS
-- Every item ever returned, with its ranks and scores.
SELECT
  r.retrieval_id AS retrieval_id, r.at AS at, e.rank AS rank, e.source_ref AS source_ref, e.locator AS locator,
  e.chunk_id AS chunk_id, e.freshness AS freshness, e.rrf_score AS rrf_score, e.rerank_score AS rerank_score,
  (SELECT group_concat(json_extract(c.value, '$.channel') || '#' || json_extract(c.value, '$.rank'), ' ')
   FROM json_each(e.channels) AS c) AS found_by,
  e.rerank_reason AS rerank_reason, e.content_hash AS content_hash,
  s.team_id AS team_id, s.project_id AS project_id, s.repository AS repository, s.branch AS branch,
  s.experiment_environment AS experiment_environment
FROM retrieval_evidence AS e
JOIN retrieval AS r ON r.id = e.retrieval
JOIN scope AS s ON s.id = e.scope_id;

CREATE VIEW memory_trail AS
-- Every version of every memory; the live one has no retired_revision.
SELECT
  m.memory_id AS memory_id, m.status AS status, m.kind AS kind, m.title AS title, m.confidence AS confidence,
  m.actor AS actor, m.reason AS reason, m.updated_at AS updated_at, m.expires_at AS expires_at,
  m.added_revision AS added_revision, m.retired_revision AS retired_revision,
  s.team_id AS team_id, s.project_id AS project_id, s.repository AS repository, s.branch AS branch,
  s.experiment_environment AS experiment_environment, m.content AS content, m.content_hash AS content_hash
FROM memory AS m JOIN scope AS s ON s.id = m.scope_id;

CREATE VIEW source_trail AS
-- Every version of every source; the live one has no retired_revision.
SELECT
  v.source_ref AS source_ref, v.title AS title, v.reader AS reader, v.encoding AS encoding,
  v.encoding_confidence AS encoding_confidence, v.size AS size, v.n_chunks AS chunks, v.lines_withheld AS lines_withheld,
  v.git_commit AS git_commit, v.git_state AS git_state, v.created_at AS read_at,
  v.added_revision AS added_revision, v.retired_revision AS retired_revision,
  s.team_id AS team_id, s.project_id AS project_id, s.repository AS repository, s.branch AS branch,
  s.experiment_environment AS experiment_environment, v.content_hash AS content_hash
FROM source_version AS v JOIN scope AS s ON s.id = v.scope_id;

CREATE VIEW chunk_trail AS
-- Every chunk that is or was searchable, with its source as it stands now.
SELECT
  c.chunk_id AS chunk_id, v.source_ref AS source_ref, c.locator AS locator, c.heading AS heading, c.content AS content,
  c.start_line AS start_line, c.end_line AS end_line, c.added_revision AS added_revision,
  c.retired_revision AS retired_revision,
  s.team_id AS team_id, s.project_id AS project_id, s.repository AS repository, s.branch AS branch,
  s.experiment_environment AS experiment_environment, c.content_hash AS content_hash
FROM chunk AS c
JOIN scope AS s ON s.id = c.scope_id
LEFT JOIN source_version AS v ON v.source_id = c.source_id AND v.retired_revision IS NULL;
