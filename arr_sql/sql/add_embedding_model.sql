-- A model whose vectors this file is about to hold.
INSERT INTO embedding_model (fingerprint, model_id, dimension, spec, canaries, created_at)
VALUES (:fingerprint, :model_id, :dimension, :spec, :canaries, :created_at)
ON CONFLICT (fingerprint) DO NOTHING;
