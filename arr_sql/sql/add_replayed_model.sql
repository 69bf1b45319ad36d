-- An embedding model, copied as it is in the store.
INSERT INTO embedding_model (id, fingerprint, model_id, dimension, spec, canaries, created_at)
VALUES (:id, :fingerprint, :model_id, :dimension, :spec, :canaries, :created_at);
