DROP VIEW memory_trail;

CREATE VIEW memory_trail AS
-- Every version of every memory, with what it rests on; the live one has no retired_revision.
SELECT
  m.memory_id AS memory_id, m.status AS status, m.kind AS kind, m.title AS title, m.confidence AS confidence,
  m.actor AS actor, m.reason AS reason, m.updated_at AS updated_at, m.expires_at AS expires_at,
  m.added_revision AS added_revision, m.retired_revision AS retired_revision,
  m.source_refs AS source_refs, m.evidence_chunk_ids AS evidence_chunk_ids, m.conflict_key AS conflict_key,
  s.team_id AS team_id, s.project_id AS project_id, s.repository AS repository, s.branch AS branch,
  s.experiment_environment AS experiment_environment, m.content AS content, m.content_hash AS content_hash
FROM memory AS m JOIN scope AS s ON s.id = m.scope_id;
