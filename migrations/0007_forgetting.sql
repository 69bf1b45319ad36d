CREATE TABLE forget_receipt (
  -- One erasure, asked for by a person: how much went and what it was, by hash only. Written in the transaction that
  -- erases, so there is no erasure without it. Whether the bytes are gone from the files is told by forget_scan.
  id INTEGER PRIMARY KEY,
  scope_id INTEGER NOT NULL REFERENCES scope (id),
  scope_seq INTEGER NOT NULL CHECK (scope_seq > 0),
  receipt_id TEXT NOT NULL,
  at TEXT NOT NULL CHECK (at GLOB '????-??-??T??:??:??.??????Z'),
  actor TEXT NOT NULL CHECK (length(trim(actor)) > 0),
  target TEXT NOT NULL CHECK (target IN ('memory', 'source', 'query', 'scope', 'several')),
  -- The scope's revision that the erasure made.
  revision INTEGER NOT NULL CHECK (revision > 0),
  -- How many rows of each kind went, as a JSON object.
  counts TEXT NOT NULL CHECK (json_valid(counts) AND json_type(counts) = 'object'),
  -- SHA-256 of the sorted list of the SHA-256 of every erased text (names and headings too); the texts' own hashes are
  -- in forget_subject. One hash over many: short texts can't be guessed one by one.
  texts_hash TEXT NOT NULL CHECK (length(texts_hash) = 64),
  n_texts INTEGER NOT NULL CHECK (n_texts >= 0),
  -- SHA-256 over this row and its subjects; the event 'forgotten' vouches for it.
  receipt_hash TEXT NOT NULL CHECK (length(receipt_hash) = 64),
  UNIQUE (scope_id, scope_seq),
  UNIQUE (scope_id, receipt_id)
) STRICT;

CREATE TABLE forget_subject (
  -- One row that an erasure removed, or rewrote without the erased text. It explains to `arr audit verify` why the row
  -- that an event vouches for is gone or another: only if before_hash is the event's own hash.
  receipt INTEGER NOT NULL REFERENCES forget_receipt (id),
  number INTEGER NOT NULL CHECK (number > 0),
  scope_id INTEGER NOT NULL REFERENCES scope (id),
  kind TEXT NOT NULL CHECK (kind GLOB '[a-z]*' AND kind NOT GLOB '*[^a-z_]*'),
  subject_id TEXT NOT NULL,
  -- Of a memory: which version.
  revision INTEGER,
  -- The row's hash before, as its event has it. '' for rows without an event of their own (chunks).
  before_hash TEXT NOT NULL CHECK (before_hash = '' OR length(before_hash) = 64),
  -- The row's hash afterwards, NULL when the row is gone.
  after_hash TEXT CHECK (length(after_hash) = 64),
  -- SHA-256 of its text: of the chunk, the memory's content, the file, the query, the payload.
  text_hash TEXT NOT NULL CHECK (length(text_hash) = 64),
  PRIMARY KEY (receipt, number)
) STRICT, WITHOUT ROWID;

-- "Was this chunk, memory or package erased?" for replay and for the triggers below.
CREATE INDEX forget_subject_subject ON forget_subject (scope_id, kind, subject_id);

CREATE TABLE forget_scan (
  -- What a reading of a file's raw bytes found after an erasure. Belongs to the whole file, not to a scope: that other
  -- scopes hold the same text is theirs to know, and the operator's.
  id INTEGER PRIMARY KEY,
  receipt INTEGER NOT NULL REFERENCES forget_receipt (id),
  at TEXT NOT NULL CHECK (at GLOB '????-??-??T??:??:??.??????Z'),
  actor TEXT NOT NULL CHECK (length(trim(actor)) > 0),
  file_kind TEXT NOT NULL CHECK (file_kind IN ('database', 'backup')),
  -- SHA-256 of a backup's absolute path, '' for this database.
  path_hash TEXT NOT NULL CHECK (path_hash = '' OR length(path_hash) = 64),
  -- 'bytes': the erased texts, terms and vectors were looked for. 'structure': finished after an interruption, when the
  -- texts were gone: the file was written anew from the remaining rows, and no row has an erased text's hash.
  method TEXT NOT NULL CHECK (method IN ('bytes', 'structure')),
  result TEXT NOT NULL CHECK (result IN ('clean', 'residue')),
  n_probes INTEGER NOT NULL CHECK (n_probes >= 0),
  n_bytes INTEGER NOT NULL CHECK (n_bytes >= 0),
  -- Probes that were found although no remaining row holds them: 0 in a clean file.
  n_found INTEGER NOT NULL CHECK (n_found >= 0),
  -- Does a row of another scope hold a part of the erased text? Its copy is not this scope's to erase.
  held_elsewhere INTEGER NOT NULL CHECK (held_elsewhere IN (0, 1)),
  CHECK ((result = 'clean') = (n_found = 0))
) STRICT;

CREATE INDEX forget_scan_receipt ON forget_scan (receipt, file_kind);

CREATE TRIGGER forget_receipt_no_update BEFORE UPDATE ON forget_receipt
BEGIN
  SELECT RAISE(ABORT, 'forget_receipt is append-only: a receipt is never changed');
END;

CREATE TRIGGER forget_receipt_no_delete BEFORE DELETE ON forget_receipt
BEGIN
  SELECT RAISE(ABORT, 'forget_receipt is append-only: a receipt is never removed');
END;

CREATE TRIGGER forget_subject_no_update BEFORE UPDATE ON forget_subject
BEGIN
  SELECT RAISE(ABORT, 'forget_subject is append-only: a receipt is never changed');
END;

CREATE TRIGGER forget_subject_no_delete BEFORE DELETE ON forget_subject
BEGIN
  SELECT RAISE(ABORT, 'forget_subject is append-only: a receipt is never removed');
END;

CREATE TRIGGER forget_scan_no_update BEFORE UPDATE ON forget_scan
BEGIN
  SELECT RAISE(ABORT, 'forget_scan is append-only: a scan is never changed');
END;

CREATE TRIGGER forget_scan_no_delete BEFORE DELETE ON forget_scan
BEGIN
  SELECT RAISE(ABORT, 'forget_scan is append-only: a scan is never removed');
END;

-- Approvals are frozen, and may hold a text that has to go: a row leaves only when a forget receipt, written before,
-- names it and its text by hash.
DROP TRIGGER approval_package_no_delete;

CREATE TRIGGER approval_package_no_delete BEFORE DELETE ON approval_package
WHEN NOT EXISTS (
  SELECT 1 FROM forget_subject AS f
  WHERE f.scope_id = OLD.scope_id AND f.kind = 'approval_package' AND f.subject_id = OLD.package_id
    AND f.text_hash = OLD.payload_hash
)
BEGIN
  SELECT RAISE(ABORT, 'approval_package is frozen: a package is never removed');
END;

DROP TRIGGER approval_decision_no_delete;

CREATE TRIGGER approval_decision_no_delete BEFORE DELETE ON approval_decision
WHEN NOT EXISTS (
  SELECT 1 FROM forget_subject AS f
  WHERE f.scope_id = OLD.scope_id AND f.kind = 'approval_package' AND f.subject_id = OLD.package_id
    AND f.text_hash = OLD.payload_hash
)
BEGIN
  SELECT RAISE(ABORT, 'approval_decision is final: a decision is never removed');
END;

DROP TRIGGER verification_receipt_no_delete;

CREATE TRIGGER verification_receipt_no_delete BEFORE DELETE ON verification_receipt
WHEN NOT EXISTS (
  SELECT 1 FROM forget_subject AS f
  WHERE f.scope_id = OLD.scope_id AND f.kind = 'approval_package' AND f.subject_id = OLD.package_id
    AND f.text_hash = OLD.payload_hash
)
BEGIN
  SELECT RAISE(ABORT, 'verification_receipt is frozen: a receipt is never removed');
END;

CREATE VIEW forget_trail AS
-- What was forgotten, by whom, and whether the bytes are gone: one line a receipt. State 'erased' means that the rows
-- are gone and the files were not yet proven clean.
SELECT
  f.receipt_id AS receipt_id, f.at AS at, f.actor AS actor, f.target AS target, f.counts AS counts, f.revision AS revision,
  CASE WHEN c.id IS NULL THEN 'erased' WHEN c.result = 'clean' THEN 'verified' ELSE 'residue' END AS state,
  c.method AS method, c.n_probes AS probes, c.n_bytes AS bytes_read, c.n_found AS found, c.held_elsewhere AS held_elsewhere,
  c.at AS scanned_at,
  (SELECT count(*) FROM forget_scan AS b WHERE b.receipt = f.id AND b.file_kind = 'backup' AND b.result = 'clean')
    AS backups_clean,
  s.team_id AS team_id, s.project_id AS project_id, s.repository AS repository, s.branch AS branch,
  s.experiment_environment AS experiment_environment,
  f.n_texts AS texts, f.texts_hash AS texts_hash, f.receipt_hash AS receipt_hash
FROM forget_receipt AS f
JOIN scope AS s ON s.id = f.scope_id
LEFT JOIN forget_scan AS c ON c.id = (
  SELECT max(l.id) FROM forget_scan AS l WHERE l.receipt = f.id AND l.file_kind = 'database');
