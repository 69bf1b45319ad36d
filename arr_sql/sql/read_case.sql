-- What the live version of a memory says, as far as an approval is about it, and every risk level it ever stated or
-- brought along from another scope or file.
SELECT m.memory_id AS memory_id, m.kind AS kind, m.status AS status, m.title AS title,
  m.content_hash AS content_hash, m.source_refs AS source_refs, m.applicability AS applicability,
  m.evidence_chunk_ids AS evidence_chunk_ids, m.proposed_actions AS proposed_actions, m.metadata AS metadata,
  (SELECT json_group_array(json_extract(v.metadata, '$.risk_level')) FROM memory AS v
   WHERE v.scope_id = m.scope_id AND v.memory_id = m.memory_id) AS risk_levels,
  (SELECT json_group_array(json_extract(v.metadata, '$.risk_carried')) FROM memory AS v
   WHERE v.scope_id = m.scope_id AND v.memory_id = m.memory_id) AS risks_carried
FROM scope AS s
JOIN memory AS m ON m.scope_id = s.id AND m.retired_revision IS NULL
WHERE s.team_id = :team_id AND s.project_id = :project_id AND s.repository = :repository
  AND s.branch = :branch AND s.experiment_environment = :experiment_environment
  AND m.memory_id = :memory_id;
