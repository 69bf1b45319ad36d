-- The live memories of this scope, newest change first; of one status or kind, or changed since a
-- moment, where :status, :kind or :since is given.
SELECT m.id AS id, m.memory_id AS memory_id, m.kind AS kind, m.title AS title, m.content AS content,
  m.content_hash AS content_hash, m.source_refs AS source_refs, m.confidence AS confidence,
  m.applicability AS applicability, m.status AS status, m.conflict_key AS conflict_key, m.expires_at AS expires_at,
  m.related_memory_ids AS related_memory_ids, m.evidence_chunk_ids AS evidence_chunk_ids,
  m.proposed_actions AS proposed_actions, m.metadata AS metadata, m.created_at AS created_at,
  m.updated_at AS updated_at, m.added_revision AS added_revision
FROM scope AS s
JOIN memory AS m ON m.scope_id = s.id AND m.retired_revision IS NULL
WHERE s.team_id = :team_id AND s.project_id = :project_id AND s.repository = :repository
  AND s.branch = :branch AND s.experiment_environment = :experiment_environment
  AND (:status IS NULL OR m.status = :status) AND (:kind IS NULL OR m.kind = :kind)
  AND (:since IS NULL OR m.updated_at >= :since)
ORDER BY m.updated_at DESC, m.memory_id;
