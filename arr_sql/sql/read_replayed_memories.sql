-- The versions of a scope's memories that are visible at some revision from :first to :last.
SELECT m.id AS id, m.scope_id AS scope_id, m.memory_id AS memory_id, m.kind AS kind, m.title AS title,
  m.content AS content, m.content_hash AS content_hash, m.source_refs AS source_refs, m.confidence AS confidence,
  m.applicability AS applicability, m.status AS status, m.conflict_key AS conflict_key, m.expires_at AS expires_at,
  m.related_memory_ids AS related_memory_ids, m.evidence_chunk_ids AS evidence_chunk_ids,
  m.proposed_actions AS proposed_actions, m.metadata AS metadata, m.actor AS actor, m.reason AS reason,
  m.created_at AS created_at, m.updated_at AS updated_at, m.added_revision AS added_revision,
  m.retired_revision AS retired_revision
FROM memory AS m
WHERE m.scope_id = :scope_id AND m.added_revision <= :last
  AND (m.retired_revision IS NULL OR m.retired_revision > :first)
ORDER BY m.id;
