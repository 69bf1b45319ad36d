-- Note the lengths and the hash of a chunk's terms as this analyser makes them.
UPDATE chunk SET n_terms = :n_terms, n_heading_terms = :n_heading_terms, terms_hash = :terms_hash WHERE id = :id;
