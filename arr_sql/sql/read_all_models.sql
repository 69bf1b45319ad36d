-- Every embedding model of the file, to compare with the events that vouch for them.
SELECT m.id AS id, m.fingerprint AS fingerprint, m.model_id AS model_id, m.dimension AS dimension, m.spec AS spec,
  m.canaries AS canaries, m.created_at AS created_at
FROM embedding_model AS m ORDER BY m.id;
