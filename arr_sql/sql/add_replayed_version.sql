-- A copied source version, hidden until a revision shows it.
INSERT INTO source_version
  (id, scope_id, source_id, source_ref, path_in_root, content_hash, size, reader, reader_version, encoding,
   encoding_confidence, title, language, metadata, warnings, lines_withheld, git_commit, git_state, n_chunks,
   chunks_hash, created_at, added_revision, retired_revision)
VALUES
  (:id, :scope_id, :source_id, :source_ref, :path_in_root, :content_hash, :size, :reader, :reader_version, :encoding,
   :encoding_confidence, :title, :language, :metadata, :warnings, :lines_withheld, :git_commit, :git_state, :n_chunks,
   :chunks_hash, :created_at, :added_revision, :added_revision + 1);
