-- A new chunk of a source, under the row that read_next_chunk_row named.
INSERT INTO chunk
  (id, scope_id, source_id, chunk_id, ordinal, heading, content, content_hash, embed_hash, kind, locator, start_line,
   end_line, n_heading_terms, n_terms, terms_hash, created_at, added_revision)
VALUES
  (:id, :scope_id, :source_id, :chunk_id, :ordinal, :heading, :content, :content_hash, :embed_hash, :kind, :locator,
   :start_line, :end_line, :n_heading_terms, :n_terms, :terms_hash, :created_at, :added_revision);
