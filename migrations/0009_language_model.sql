ALTER TABLE retrieval ADD COLUMN language_model TEXT -- What a model advised: its id, prompts, outcomes, each candidate's score. NULL where none was asked.
  CHECK (language_model IS NULL OR (json_valid(language_model) AND json_type(language_model) = 'object'));

DROP VIEW retrieval_trail;

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
  r.scope_revision AS scope_revision, r.plan_origin AS plan_origin,
  json_extract(r.language_model, '$.model') AS language_model
FROM retrieval AS r JOIN scope AS s ON s.id = r.scope_id;
