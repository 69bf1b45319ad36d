-- Name one row that an erasure removes or rewrites, by hash only.
INSERT INTO forget_subject (receipt, number, scope_id, kind, subject_id, revision, before_hash, after_hash, text_hash)
VALUES (:receipt, :number, :scope_id, :kind, :subject_id, :revision, :before_hash, :after_hash, :text_hash);
