-- Every version of one memory of this scope, oldest first, each with the event that vouches for it.
SELECT m.memory_id AS memory_id, m.kind AS kind, m.title AS title, m.content AS content,
  m.source_refs AS source_refs, m.confidence AS confidence, m.applicability AS applicability, m.status AS status,
  m.conflict_key AS conflict_key, m.expires_at AS expires_at, m.related_memory_ids AS related_memory_ids,
  m.evidence_chunk_ids AS evidence_chunk_ids, m.proposed_actions AS proposed_actions, m.metadata AS metadata,
  m.actor AS actor, m.reason AS reason, m.created_at AS created_at, m.updated_at AS updated_at,
  m.added_revision AS added_revision, m.retired_revision AS retired_revision,
  e.at AS at, e.kind AS event, e.scope_seq AS scope_seq
FROM scope AS s
JOIN memory AS m ON m.scope_id = s.id
LEFT JOIN audit_event AS e ON e.subject_kind = 'memory' AND e.subject_id = m.memory_id AND e.scope_id = m.scope_id
  AND e.revision = m.added_revision AND e.subject_hash <> ''
WHERE s.team_id = :team_id AND s.project_id = :project_id AND s.repository = :repository
  AND s.branch = :branch AND s.experiment_environment = :experiment_environment
  AND m.memory_id = :memory_id
ORDER BY m.added_revision, m.id;
