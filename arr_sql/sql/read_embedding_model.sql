-- The stored row of a model, by its fingerprint.
SELECT m.id AS id, m.model_id AS model_id, m.canaries AS canaries FROM embedding_model AS m WHERE m.fingerprint = :fingerprint;
