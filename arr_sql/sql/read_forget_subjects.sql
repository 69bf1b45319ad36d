-- What one erasure removed or rewrote, in order.
SELECT t.number AS number, t.scope_id AS scope_id, t.kind AS kind, t.subject_id AS subject_id, t.revision AS revision,
  t.before_hash AS before_hash, t.after_hash AS after_hash, t.text_hash AS text_hash
FROM forget_subject AS t WHERE t.receipt = :receipt ORDER BY t.receipt, t.number;
