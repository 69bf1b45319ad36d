-- Note one file or folder that a walk left out, with its reason.
INSERT INTO source_left_out (scope_id, root_id, path_in_root, reason, size, mtime_ns)
VALUES (:scope_id, :root_id, :path_in_root, :reason, :size, :mtime_ns)
ON CONFLICT (scope_id, root_id, path_in_root) DO UPDATE
SET reason = excluded.reason, size = excluded.size, mtime_ns = excluded.mtime_ns;
