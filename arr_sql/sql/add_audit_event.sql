-- Append one event; the triggers refuse anything that does not follow the last one.
INSERT INTO audit_event
  (seq, scope_id, scope_seq, revision, at, actor, kind, subject_kind, subject_id, subject_hash, details, prev_hash, hash)
VALUES
  (:seq, :scope_id, :scope_seq, :revision, :at, :actor, :kind, :subject_kind, :subject_id, :subject_hash, :details,
   :prev_hash, :hash);
