-- A file as it was read now.
INSERT INTO source_version
  (scope_id, source_id, source_ref, path_in_root, content_hash, size, reader, reader_version, encoding,
   encoding_confidence, title, language, metadata, warnings, lines_withheld, git_commit, git_state, n_chunks,
   chunks_hash, created_at, added_revision)
VALUES
  (:scope_id, :source_id, :source_ref, :path_in_root, :content_hash, :size, :reader, :reader_version, :encoding,
   :encoding_confidence, :title, :language, :metadata, :warnings, :lines_withheld, :git_commit, :git_state, :n_chunks,
   :chunks_hash, :created_at, :added_revision);
