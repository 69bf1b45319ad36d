-- What the file system said of a file, so that the next sync can skip it.
INSERT INTO source_stat (source_id, size, mtime_ns, read_at_ns) VALUES (:source_id, :size, :mtime_ns, :read_at_ns)
ON CONFLICT (source_id) DO UPDATE
SET size = excluded.size, mtime_ns = excluded.mtime_ns, read_at_ns = excluded.read_at_ns;
