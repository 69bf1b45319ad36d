-- A new chunk of a source.
INSERT INTO chunk
  (scope_id, source_id, chunk_id, ordinal, heading, content, content_hash, embed_hash, kind, locator, start_line,
   end_line, n_heading_terms, n_terms, terms_hash, created_at, added_revision)
VALUES
  (:scope_id, :source_id, :chunk_id, :ordinal, :heading, :content, :content_hash, :embed_hash, :kind, :locator,
   :start_line, :end_line, :n_heading_terms, :n_terms, :terms_hash, :created_at, :added_revision);
