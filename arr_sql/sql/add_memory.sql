-- A new version of a memory (its first, or the next one after a change).
INSERT INTO memory
  (scope_id, memory_id, kind, title, content, content_hash, source_refs, confidence, applicability, status,
   conflict_key, expires_at, related_memory_ids, evidence_chunk_ids, proposed_actions, metadata, n_heading_terms,
   n_terms, terms_hash, actor, reason, created_at, updated_at, added_revision)
VALUES
  (:scope_id, :memory_id, :kind, :title, :content, :content_hash, :source_refs, :confidence, :applicability, :status,
   :conflict_key, :expires_at, :related_memory_ids, :evidence_chunk_ids, :proposed_actions, :metadata,
   :n_heading_terms, :n_terms, :terms_hash, :actor, :reason, :created_at, :updated_at, :added_revision);
