-- Record one erasure, by hash only.
INSERT INTO forget_receipt
  (scope_id, scope_seq, receipt_id, at, actor, target, revision, counts, texts_hash, n_texts, receipt_hash)
VALUES
  (:scope_id, :scope_seq, :receipt_id, :at, :actor, :target, :revision, :counts, :texts_hash, :n_texts, :receipt_hash);
