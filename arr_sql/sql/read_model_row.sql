-- One embedding model, whole: what the event that adds it vouches for.
SELECT m.id AS id, m.fingerprint AS fingerprint, m.model_id AS model_id, m.dimension AS dimension, m.spec AS spec,
  m.canaries AS canaries, m.created_at AS created_at
FROM embedding_model AS m WHERE m.fingerprint = :fingerprint;
