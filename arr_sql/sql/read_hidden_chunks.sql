-- Every chunk of the file that is history: its terms are noted like those of live ones, and are in no index.
SELECT c.id AS id, c.scope_id AS scope_id, c.heading AS heading, c.content AS content, c.terms_hash AS terms_hash,
  c.n_terms AS n_terms, c.n_heading_terms AS n_heading_terms
FROM chunk AS c WHERE c.retired_revision IS NOT NULL ORDER BY c.id;
