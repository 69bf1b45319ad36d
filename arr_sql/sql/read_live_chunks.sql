-- Every live chunk of the file, for building its text index (the index holds all scopes, each behind its own prefix).
SELECT c.id AS id, c.scope_id AS scope_id, c.heading AS heading, c.content AS content, c.terms_hash AS terms_hash,
  c.n_terms AS n_terms, c.n_heading_terms AS n_heading_terms
FROM chunk AS c WHERE c.retired_revision IS NULL ORDER BY c.id;
