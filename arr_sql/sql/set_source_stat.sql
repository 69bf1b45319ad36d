-- What the file system said of a file, so that the next sync can skip it. The sum is the one that the table's CHECK wants.
INSERT INTO source_stat (source_id, size, mtime_ns, read_at_ns, check_sum)
VALUES (:source_id, :size, :mtime_ns, :read_at_ns,
  :source_id + 3 * (:size % 1000000007) + 5 * (:mtime_ns % 1000000007) + 7 * (:read_at_ns % 1000000007))
ON CONFLICT (source_id) DO UPDATE
SET size = excluded.size, mtime_ns = excluded.mtime_ns, read_at_ns = excluded.read_at_ns, check_sum = excluded.check_sum;
