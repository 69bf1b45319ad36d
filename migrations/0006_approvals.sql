CREATE TABLE approval_package (
  -- A frozen question to another person: this payload, for this case, at this risk. Recorded, never executed. Rows are
  -- only added: what became of a package is its row in approval_decision, and until then it is pending.
  id INTEGER PRIMARY KEY,
  scope_id INTEGER NOT NULL REFERENCES scope (id),
  package_id TEXT NOT NULL CHECK (length(package_id) BETWEEN 1 AND 200 AND package_id = trim(package_id)),
  -- The memory of kind research_case in the same scope that the package is about.
  case_id TEXT NOT NULL CHECK (length(case_id) BETWEEN 1 AND 200),
  -- What the case said when the package was made: an approval holds for that text and no other.
  case_hash TEXT NOT NULL CHECK (length(case_hash) = 64 AND case_hash NOT GLOB '*[^0-9a-f]*'),
  -- Canonical JSON, so that its SHA-256 is payload_hash.
  payload TEXT NOT NULL CHECK (json_valid(payload) AND json_type(payload) = 'object'),
  payload_hash TEXT NOT NULL CHECK (length(payload_hash) = 64 AND payload_hash NOT GLOB '*[^0-9a-f]*'),
  risk_level TEXT NOT NULL CHECK (risk_level IN ('low', 'medium', 'high')),
  requested_by TEXT NOT NULL CHECK (length(requested_by) BETWEEN 1 AND 200 AND requested_by = trim(requested_by)),
  -- The name by which people are told apart: trimmed and case-folded. SQLite folds ASCII only, so it can hold the
  -- writer to it only there; arr_sql folds all of Unicode.
  requested_by_key TEXT NOT NULL CHECK (
    length(requested_by_key) > 0
    AND (requested_by GLOB '*[^ -~]*' OR requested_by_key = lower(trim(requested_by)))
  ),
  requested_at TEXT NOT NULL CHECK (requested_at GLOB '????-??-??T??:??:??.??????Z'),
  expires_at TEXT NOT NULL CHECK (expires_at GLOB '????-??-??T??:??:??.??????Z' AND expires_at > requested_at),
  added_revision INTEGER NOT NULL CHECK (added_revision > 0),
  UNIQUE (scope_id, package_id),
  -- What a decision repeats and must not differ in.
  UNIQUE (scope_id, package_id, case_id, payload_hash, requested_by, requested_by_key, expires_at)
) STRICT;

CREATE INDEX approval_package_case ON approval_package (scope_id, case_id);

CREATE TABLE approval_decision (
  -- What became of a package, final: one row at most. The columns that repeat the package are held equal to it by a
  -- foreign key, so that the rules between the two are CHECKs of one row.
  id INTEGER PRIMARY KEY,
  scope_id INTEGER NOT NULL REFERENCES scope (id),
  package_id TEXT NOT NULL,
  case_id TEXT NOT NULL,
  payload_hash TEXT NOT NULL,
  requested_by TEXT NOT NULL,
  requested_by_key TEXT NOT NULL,
  expires_at TEXT NOT NULL,
  outcome TEXT NOT NULL CHECK (outcome IN ('approved', 'rejected', 'expired')),
  -- Who decided; of an expiry, who noticed.
  decided_by TEXT NOT NULL CHECK (length(decided_by) BETWEEN 1 AND 200 AND decided_by = trim(decided_by)),
  decided_by_key TEXT NOT NULL CHECK (
    length(decided_by_key) > 0 AND (decided_by GLOB '*[^ -~]*' OR decided_by_key = lower(trim(decided_by)))
  ),
  decided_at TEXT NOT NULL CHECK (decided_at GLOB '????-??-??T??:??:??.??????Z'),
  -- The decider's words, '' for none.
  reason TEXT NOT NULL,
  -- SHA-256 of the one-time token that admits the receipt. The token itself is never stored.
  token_hash TEXT CHECK (length(token_hash) = 64 AND token_hash NOT GLOB '*[^0-9a-f]*'),
  added_revision INTEGER NOT NULL CHECK (added_revision > 0),
  UNIQUE (scope_id, package_id),
  UNIQUE (scope_id, token_hash),
  -- What a receipt repeats and must not differ in.
  UNIQUE (scope_id, package_id, case_id, payload_hash, token_hash),
  FOREIGN KEY (scope_id, package_id, case_id, payload_hash, requested_by, requested_by_key, expires_at)
    REFERENCES approval_package
      (scope_id, package_id, case_id, payload_hash, requested_by, requested_by_key, expires_at),
  CONSTRAINT approver_is_not_requester CHECK (
    outcome = 'expired' OR (
      lower(decided_by_key) <> lower(requested_by_key)
      -- The characters that Python's strip() takes off.
      AND lower(trim(decided_by, char(
        9, 10, 11, 12, 13, 28, 29, 30, 31, 32, 133, 160, 5760, 8192, 8193, 8194, 8195, 8196, 8197, 8198, 8199, 8200,
        8201, 8202, 8232, 8233, 8239, 8287, 12288
      ))) <> lower(trim(requested_by, char(
        9, 10, 11, 12, 13, 28, 29, 30, 31, 32, 133, 160, 5760, 8192, 8193, 8194, 8195, 8196, 8197, 8198, 8199, 8200,
        8201, 8202, 8232, 8233, 8239, 8287, 12288
      )))
    )
  ),
  CONSTRAINT expired_from_expires_at CHECK ((outcome = 'expired') = (decided_at >= expires_at)),
  CONSTRAINT only_approval_gives_a_token CHECK ((outcome = 'approved') = (token_hash IS NOT NULL))
) STRICT;

CREATE TABLE verification_receipt (
  -- What somebody reports of having carried out an approved package elsewhere. One a token, and a token is one
  -- package's: no row without an approval, by a foreign key. It changes no memory.
  id INTEGER PRIMARY KEY,
  scope_id INTEGER NOT NULL REFERENCES scope (id),
  package_id TEXT NOT NULL,
  case_id TEXT NOT NULL,
  payload_hash TEXT NOT NULL,
  token_hash TEXT NOT NULL,
  receipt_id TEXT NOT NULL CHECK (length(receipt_id) BETWEEN 1 AND 200 AND receipt_id = trim(receipt_id)),
  status TEXT NOT NULL CHECK (status IN ('passed', 'failed', 'blocked')),
  -- Canonical JSON: environment, verification_summary, evidence_refs (at least one), assertions, log_summary.
  body TEXT NOT NULL CHECK (
    json_valid(body) AND json_type(body) = 'object' AND json_type(body, '$.evidence_refs') IS 'array'
    AND json_array_length(body, '$.evidence_refs') > 0 AND json_type(body, '$.log_summary') IS 'text'
    AND length(json_extract(body, '$.log_summary')) <= 4096
  ),
  body_hash TEXT NOT NULL CHECK (length(body_hash) = 64 AND body_hash NOT GLOB '*[^0-9a-f]*'),
  -- SHA-256 of the compact JSON array [package_id, receipt_token, receipt_id].
  event_key TEXT NOT NULL CHECK (length(event_key) = 64 AND event_key NOT GLOB '*[^0-9a-f]*'),
  recorded_by TEXT NOT NULL CHECK (length(recorded_by) BETWEEN 1 AND 200 AND recorded_by = trim(recorded_by)),
  recorded_at TEXT NOT NULL CHECK (recorded_at GLOB '????-??-??T??:??:??.??????Z'),
  added_revision INTEGER NOT NULL CHECK (added_revision > 0),
  UNIQUE (scope_id, package_id),
  UNIQUE (scope_id, token_hash),
  UNIQUE (scope_id, event_key),
  FOREIGN KEY (scope_id, package_id, case_id, payload_hash, token_hash)
    REFERENCES approval_decision (scope_id, package_id, case_id, payload_hash, token_hash)
) STRICT;

CREATE TRIGGER approval_package_no_update BEFORE UPDATE ON approval_package
BEGIN
  SELECT RAISE(ABORT, 'approval_package is frozen: a package is never changed');
END;

CREATE TRIGGER approval_package_no_delete BEFORE DELETE ON approval_package
BEGIN
  SELECT RAISE(ABORT, 'approval_package is frozen: a package is never removed');
END;

-- Also stops INSERT OR REPLACE, which walks past the delete trigger when recursive_triggers is off.
CREATE TRIGGER approval_package_no_replace BEFORE INSERT ON approval_package
WHEN EXISTS (
  SELECT 1 FROM approval_package AS p
  WHERE p.id = NEW.id OR (p.scope_id = NEW.scope_id AND p.package_id = NEW.package_id)
)
BEGIN
  SELECT RAISE(ABORT, 'approval_package is frozen: this package exists already');
END;

CREATE TRIGGER approval_package_needs_a_case BEFORE INSERT ON approval_package
WHEN NOT EXISTS (
  SELECT 1 FROM memory AS m
  WHERE m.scope_id = NEW.scope_id AND m.memory_id = NEW.case_id AND m.retired_revision IS NULL
    AND m.kind = 'research_case' AND m.status <> 'revoked'
)
BEGIN
  SELECT RAISE(ABORT, 'approval_package: the case must be a research_case of the same scope that is not revoked');
END;

CREATE TRIGGER approval_decision_no_update BEFORE UPDATE ON approval_decision
BEGIN
  SELECT RAISE(ABORT, 'approval_decision is final: a decision is never changed');
END;

CREATE TRIGGER approval_decision_no_delete BEFORE DELETE ON approval_decision
BEGIN
  SELECT RAISE(ABORT, 'approval_decision is final: a decision is never removed');
END;

CREATE TRIGGER approval_decision_no_replace BEFORE INSERT ON approval_decision
WHEN EXISTS (
  SELECT 1 FROM approval_decision AS d
  WHERE d.id = NEW.id OR (d.scope_id = NEW.scope_id AND (d.package_id = NEW.package_id OR d.token_hash = NEW.token_hash))
)
BEGIN
  SELECT RAISE(ABORT, 'approval_decision is final: this package is decided already');
END;

CREATE TRIGGER verification_receipt_no_update BEFORE UPDATE ON verification_receipt
BEGIN
  SELECT RAISE(ABORT, 'verification_receipt is frozen: a receipt is never changed');
END;

CREATE TRIGGER verification_receipt_no_delete BEFORE DELETE ON verification_receipt
BEGIN
  SELECT RAISE(ABORT, 'verification_receipt is frozen: a receipt is never removed');
END;

CREATE TRIGGER verification_receipt_no_replace BEFORE INSERT ON verification_receipt
WHEN EXISTS (
  SELECT 1 FROM verification_receipt AS v
  WHERE v.id = NEW.id OR (v.scope_id = NEW.scope_id AND (
    v.package_id = NEW.package_id OR v.token_hash = NEW.token_hash OR v.event_key = NEW.event_key
  ))
)
BEGIN
  SELECT RAISE(ABORT, 'verification_receipt is frozen: this package has its receipt already');
END;

CREATE VIEW approval_trail AS
-- Who asked whom for what, what was decided, and what was reported: one line a package. A package that nobody decided is
-- pending until its expires_at, whether or not its expiry was noted.
SELECT
  p.package_id AS package_id, p.case_id AS case_id, p.risk_level AS risk_level,
  coalesce(d.outcome, 'pending') AS status,
  p.requested_by AS requested_by, p.requested_at AS requested_at, p.expires_at AS expires_at,
  d.decided_by AS decided_by, d.decided_at AS decided_at, d.reason AS reason,
  v.receipt_id AS receipt_id, v.status AS receipt_status, v.recorded_by AS recorded_by, v.recorded_at AS recorded_at,
  json_extract(v.body, '$.evidence_refs') AS evidence_refs,
  json_extract(v.body, '$.verification_summary') AS verification_summary,
  s.team_id AS team_id, s.project_id AS project_id, s.repository AS repository, s.branch AS branch,
  s.experiment_environment AS experiment_environment,
  p.payload AS payload, p.payload_hash AS payload_hash, p.case_hash AS case_hash, v.event_key AS event_key
FROM approval_package AS p
JOIN scope AS s ON s.id = p.scope_id
LEFT JOIN approval_decision AS d ON d.scope_id = p.scope_id AND d.package_id = p.package_id
LEFT JOIN verification_receipt AS v ON v.scope_id = p.scope_id AND v.package_id = p.package_id;
