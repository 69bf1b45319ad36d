CREATE TABLE line_index (
  -- A scope that keeps an index of its folders' lines: `arr sync` brings it up to date. Derived from the disk, dropped and
  -- made again at will.
  scope_id INTEGER PRIMARY KEY REFERENCES scope (id),
  -- How many rows of line_index_folder it has, and the sum of their check sums: a row that went is noticed.
  n_folders INTEGER NOT NULL CHECK (n_folders >= 0),
  check_sums INTEGER NOT NULL
) STRICT;

CREATE TABLE line_index_folder (
  -- What one folder held when it was last looked at, for `arr grep`: it reads no file that is unchanged and can't hold the
  -- text. No text is in it; a file with a line that bears a credential has no sieve. Not history: rewritten in place.
  scope_id INTEGER NOT NULL REFERENCES scope (id),
  root_id INTEGER NOT NULL REFERENCES root (id),
  -- Below the root, '' for the root itself.
  path TEXT NOT NULL,
  -- The format and the program: rows of another one are not used.
  made_by TEXT NOT NULL,
  -- The folder's device, inode and times, by which its list of names is known to be the same. NULL: list it each time.
  device INTEGER,
  inode INTEGER,
  mtime_ns INTEGER,
  ctime_ns INTEGER,
  -- SHA-256 over the ignore rules that applied in it, '' for none.
  rules TEXT NOT NULL CHECK (length(rules) IN (0, 64)),
  -- Its names in order with a slash between them, and a letter for each (arr_sql/index/line_rows.py lists them).
  names TEXT NOT NULL,
  marks TEXT NOT NULL,
  -- For each file among them size, mtime_ns, ctime_ns and inode, as 64-bit integers, little-endian.
  stats BLOB NOT NULL CHECK (length(stats) % 32 = 0),
  -- For each file how long its sieve is, as 32-bit integers, and the sieves one after the other.
  lengths BLOB NOT NULL CHECK (length(lengths) * 8 = length(stats)),
  sieves BLOB NOT NULL,
  -- CRC-32 over the rest of the row: a flipped bit must not hide a line.
  check_sum INTEGER NOT NULL,
  PRIMARY KEY (scope_id, root_id, path),
  CHECK ((device IS NULL) = (inode IS NULL) AND (device IS NULL) = (mtime_ns IS NULL) AND (device IS NULL) = (ctime_ns IS NULL))
) STRICT;
