-- Record what a reading of a file's raw bytes found after an erasure.
INSERT INTO forget_scan
  (receipt, at, actor, file_kind, path_hash, method, result, n_probes, n_bytes, n_found, held_elsewhere)
VALUES
  (:receipt, :at, :actor, :file_kind, :path_hash, :method, :result, :n_probes, :n_bytes, :n_found, :held_elsewhere);
