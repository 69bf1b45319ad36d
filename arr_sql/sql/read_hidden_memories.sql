-- Every version of a memory that is history or not published: its terms are noted, and are in no index.
SELECT m.id AS id, m.scope_id AS scope_id, m.title AS heading, m.content AS content, m.terms_hash AS terms_hash,
  m.n_terms AS n_terms, m.n_heading_terms AS n_heading_terms
FROM memory AS m WHERE m.retired_revision IS NOT NULL OR m.status <> 'published' ORDER BY m.id;
