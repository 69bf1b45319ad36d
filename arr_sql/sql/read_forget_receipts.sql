-- Every erasure of the file, to compare with the events that vouch for them.
SELECT f.id AS id, f.scope_id AS scope_id, f.scope_seq AS scope_seq, f.receipt_id AS receipt_id, f.at AS at,
  f.actor AS actor, f.target AS target, f.revision AS revision, f.counts AS counts, f.texts_hash AS texts_hash,
  f.n_texts AS n_texts, f.receipt_hash AS receipt_hash
FROM forget_receipt AS f ORDER BY f.id;
