-- Every live, published memory of the file, for building its text index.
SELECT m.id AS id, m.scope_id AS scope_id, m.title AS heading, m.content AS content, m.terms_hash AS terms_hash,
  m.n_terms AS n_terms, m.n_heading_terms AS n_heading_terms
FROM memory AS m WHERE m.retired_revision IS NULL AND m.status = 'published' ORDER BY m.id;
