-- A copied version of a memory, hidden until a revision shows it. Its term counts are those of the analyser that runs now.
INSERT INTO memory
  (id, scope_id, memory_id, kind, title, content, content_hash, source_refs, confidence, applicability, status,
   conflict_key, expires_at, related_memory_ids, evidence_chunk_ids, proposed_actions, metadata, n_heading_terms,
   n_terms, terms_hash, actor, reason, created_at, updated_at, added_revision, retired_revision)
VALUES
  (:id, :scope_id, :memory_id, :kind, :title, :content, :content_hash, :source_refs, :confidence, :applicability,
   :status, :conflict_key, :expires_at, :related_memory_ids, :evidence_chunk_ids, :proposed_actions, :metadata,
   :n_heading_terms, :n_terms, :terms_hash, :actor, :reason, :created_at, :updated_at, :added_revision,
   :added_revision + 1);
