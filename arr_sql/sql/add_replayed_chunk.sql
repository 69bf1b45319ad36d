-- A copied chunk, hidden until a revision shows it. Its term counts are those of the analyser that runs now.
INSERT INTO chunk
  (id, scope_id, source_id, chunk_id, ordinal, heading, content, content_hash, embed_hash, kind, locator, start_line,
   end_line, n_heading_terms, n_terms, terms_hash, created_at, added_revision, retired_revision)
VALUES
  (:id, :scope_id, :source_id, :chunk_id, :ordinal, :heading, :content, :content_hash, :embed_hash, :kind, :locator,
   :start_line, :end_line, :n_heading_terms, :n_terms, :terms_hash, :created_at, :added_revision, :added_revision + 1);
