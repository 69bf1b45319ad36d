-- Write a record anew without the texts that are forgotten; its new hash is in the forget receipt.
UPDATE retrieval SET query = :query, plan = :plan, query_vectors = :query_vectors, record_hash = :record_hash WHERE id = :id;
