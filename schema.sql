-- Generated from migrations/ by `arr db schema --generate`; a test compares it. Do not edit.
-- Index structures (FTS5) are derived from content and are not part of it: see arr_sql/sql/build_*.sql.
PRAGMA application_id = 1095914033;
PRAGMA user_version = 12;

CREATE TABLE migration_record (
  -- One row per applied migration, with the hash of its text: an edited old migration is found by comparing.
  name TEXT NOT NULL PRIMARY KEY,
  sha256 TEXT NOT NULL CHECK (length(sha256) = 64),
  applied_at TEXT NOT NULL CHECK (applied_at GLOB '????-??-??T??:??:??.??????Z')
) STRICT;

CREATE TABLE scope (
  -- The five values that decide what an answer may draw on. Every other row points here; callers bind the five
  -- values, never the id.
  id INTEGER PRIMARY KEY,
  team_id TEXT NOT NULL CHECK (length(team_id) BETWEEN 1 AND 200 AND team_id = trim(team_id)),
  project_id TEXT NOT NULL CHECK (length(project_id) BETWEEN 1 AND 200 AND project_id = trim(project_id)),
  repository TEXT NOT NULL CHECK (length(repository) BETWEEN 1 AND 200 AND repository = trim(repository)),
  branch TEXT NOT NULL CHECK (length(branch) BETWEEN 1 AND 200 AND branch = trim(branch)),
  experiment_environment TEXT NOT NULL
    CHECK (length(experiment_environment) BETWEEN 1 AND 200 AND experiment_environment = trim(experiment_environment)),
  -- Counts this scope's own changes, so that nothing an answer shows reveals another scope's activity.
  revision INTEGER NOT NULL DEFAULT 0 CHECK (revision >= 0),
  -- The last revision that changed what retrieval can see; an index built before it is stale.
  content_revision INTEGER NOT NULL DEFAULT 0 CHECK (content_revision BETWEEN 0 AND revision),
  parent_scope_id INTEGER REFERENCES scope (id),
  parent_revision INTEGER CHECK ((parent_revision IS NULL) = (parent_scope_id IS NULL)),
  created_at TEXT NOT NULL CHECK (created_at GLOB '????-??-??T??:??:??.??????Z'),
  UNIQUE (team_id, project_id, repository, branch, experiment_environment)
) STRICT;

CREATE TABLE audit_event (
  -- Append-only and hash-chained: hash = SHA-256(prev_hash || canonical event). Holds ids, codes and hashes; texts
  -- live in the rows whose hash it vouches for, so that a text can be forgotten without breaking the chain.
  seq INTEGER PRIMARY KEY,
  scope_id INTEGER REFERENCES scope (id),
  scope_seq INTEGER NOT NULL CHECK (scope_seq >= 0),
  revision INTEGER CHECK (revision >= 0),
  at TEXT NOT NULL CHECK (at GLOB '????-??-??T??:??:??.??????Z'),
  actor TEXT NOT NULL CHECK (length(trim(actor)) > 0),
  kind TEXT NOT NULL CHECK (kind GLOB '[a-z]*' AND kind NOT GLOB '*[^a-z_]*'),
  subject_kind TEXT NOT NULL,
  subject_id TEXT NOT NULL,
  subject_hash TEXT NOT NULL CHECK (subject_hash = '' OR length(subject_hash) = 64),
  details TEXT NOT NULL CHECK (json_valid(details) AND json_type(details) = 'object'),
  prev_hash TEXT NOT NULL CHECK (length(prev_hash) = 64),
  hash TEXT NOT NULL UNIQUE CHECK (length(hash) = 64)
) STRICT;

CREATE INDEX audit_event_scope ON audit_event (scope_id, scope_seq);

CREATE INDEX audit_event_subject ON audit_event (subject_kind, subject_id);

CREATE TRIGGER audit_event_no_update BEFORE UPDATE ON audit_event
BEGIN
  SELECT RAISE(ABORT, 'audit_event is append-only: events are never changed');
END;

CREATE TRIGGER audit_event_no_delete BEFORE DELETE ON audit_event
BEGIN
  SELECT RAISE(ABORT, 'audit_event is append-only: events are never removed');
END;

CREATE TRIGGER audit_event_only_append BEFORE INSERT ON audit_event
WHEN NEW.seq IS NOT (SELECT coalesce(max(seq), 0) + 1 FROM audit_event)
  OR NEW.prev_hash IS NOT coalesce(
    (SELECT hash FROM audit_event ORDER BY seq DESC LIMIT 1),
    '0000000000000000000000000000000000000000000000000000000000000000'
  )
  OR EXISTS (SELECT 1 FROM audit_event AS e WHERE e.hash = NEW.hash)
BEGIN
  SELECT RAISE(ABORT, 'audit_event is append-only: the next event must follow the last one');
END;

CREATE TABLE root (
  -- A folder (or single file) that was added to a scope. Paths inside the project are kept relative to it, so that
  -- the project folder can be moved.
  id INTEGER PRIMARY KEY,
  scope_id INTEGER NOT NULL REFERENCES scope (id),
  -- What source_ref begins with: '' inside the project, else the folder's own name.
  name TEXT NOT NULL,
  path TEXT NOT NULL CHECK (length(path) > 0),
  is_inside_project INTEGER NOT NULL CHECK (is_inside_project IN (0, 1)),
  -- For a single added file: its name inside the folder. NULL for a whole folder.
  only_file TEXT,
  -- The git identity that the tree had when it was added; grep answers only while it still has it.
  git_repository TEXT,
  git_branch TEXT,
  added_at TEXT NOT NULL CHECK (added_at GLOB '????-??-??T??:??:??.??????Z'),
  UNIQUE (scope_id, path, only_file)
) STRICT;

CREATE TABLE source (
  -- One file over its whole life: it keeps its identity through edits and renames.
  id INTEGER PRIMARY KEY,
  scope_id INTEGER NOT NULL REFERENCES scope (id),
  root_id INTEGER NOT NULL REFERENCES root (id),
  created_at TEXT NOT NULL CHECK (created_at GLOB '????-??-??T??:??:??.??????Z')
) STRICT;

CREATE INDEX source_scope ON source (scope_id);

CREATE TABLE source_version (
  -- A file as it was read once. Visible from added_revision until retired_revision.
  id INTEGER PRIMARY KEY,
  scope_id INTEGER NOT NULL REFERENCES scope (id),
  source_id INTEGER NOT NULL REFERENCES source (id),
  source_ref TEXT NOT NULL,
  path_in_root TEXT NOT NULL,
  content_hash TEXT NOT NULL CHECK (length(content_hash) = 64),
  size INTEGER NOT NULL CHECK (size >= 0),
  reader TEXT NOT NULL,
  reader_version TEXT NOT NULL,
  encoding TEXT NOT NULL,
  encoding_confidence REAL NOT NULL CHECK (encoding_confidence BETWEEN 0 AND 1),
  title TEXT NOT NULL,
  language TEXT NOT NULL,
  metadata TEXT NOT NULL CHECK (json_valid(metadata) AND json_type(metadata) = 'object'),
  warnings TEXT NOT NULL CHECK (json_valid(warnings) AND json_type(warnings) = 'array'),
  lines_withheld INTEGER NOT NULL CHECK (lines_withheld >= 0),
  git_commit TEXT,
  git_state TEXT CHECK (git_state IN ('clean', 'modified', 'untracked')),
  n_chunks INTEGER NOT NULL CHECK (n_chunks >= 0),
  -- SHA-256 over the canonical list of [chunk_id, content_hash, embed_hash, kind, locator, start_line, end_line] of
  -- this version's chunks in order.
  chunks_hash TEXT NOT NULL CHECK (length(chunks_hash) = 64),
  created_at TEXT NOT NULL CHECK (created_at GLOB '????-??-??T??:??:??.??????Z'),
  added_revision INTEGER NOT NULL CHECK (added_revision > 0),
  retired_revision INTEGER CHECK (retired_revision > added_revision)
) STRICT;

CREATE UNIQUE INDEX source_version_live ON source_version (scope_id, source_ref) WHERE retired_revision IS NULL;

CREATE UNIQUE INDEX source_version_source ON source_version (source_id, added_revision);

CREATE TABLE source_stat (
  -- What the file system said when the live version was read: lets `sync` skip unchanged files. A cache, not history.
  source_id INTEGER PRIMARY KEY REFERENCES source (id),
  size INTEGER NOT NULL CHECK (size >= 0),
  mtime_ns INTEGER NOT NULL,
  -- When it was read. A file changed within two seconds before that may change again within the same clock tick, so
  -- size and time do not prove it unchanged.
  read_at_ns INTEGER NOT NULL,
  -- No event vouches for a cache. This finds a flipped bit: SQLite's integrity check evaluates every CHECK.
  check_sum INTEGER NOT NULL CHECK (check_sum =
    source_id + 3 * (size % 1000000007) + 5 * (mtime_ns % 1000000007) + 7 * (read_at_ns % 1000000007))
) STRICT;

CREATE TABLE source_left_out (
  -- Files and folders that the last walk of a root did not take in, each with its reason. Rewritten by every `sync`.
  scope_id INTEGER NOT NULL REFERENCES scope (id),
  root_id INTEGER NOT NULL REFERENCES root (id),
  path_in_root TEXT NOT NULL,
  reason TEXT NOT NULL CHECK (reason GLOB '[a-z]*' AND reason NOT GLOB '*[^a-z_0-9]*'),
  size INTEGER,
  mtime_ns INTEGER,
  PRIMARY KEY (scope_id, root_id, path_in_root)
) STRICT, WITHOUT ROWID;

CREATE TABLE chunk (
  -- A piece of one source, with the lines it came from. chunk_id is derived from scope, path and content, so the
  -- same text keeps its id. Visible from added_revision until retired_revision.
  id INTEGER PRIMARY KEY,
  scope_id INTEGER NOT NULL REFERENCES scope (id),
  source_id INTEGER NOT NULL REFERENCES source (id),
  chunk_id TEXT NOT NULL,
  ordinal INTEGER NOT NULL CHECK (ordinal >= 0),
  heading TEXT NOT NULL,
  content TEXT NOT NULL CHECK (length(content) > 0),
  content_hash TEXT NOT NULL CHECK (length(content_hash) = 64),
  -- Hash of heading and content, as embedded: equal texts share one computation of their vector.
  embed_hash TEXT NOT NULL CHECK (length(embed_hash) = 64),
  kind TEXT NOT NULL,
  locator TEXT NOT NULL,
  start_line INTEGER NOT NULL CHECK (start_line >= 1),
  end_line INTEGER NOT NULL CHECK (end_line >= start_line),
  -- BM25 lengths of heading and content, and a hash of their terms, by which a changed analyser is noticed.
  n_heading_terms INTEGER NOT NULL CHECK (n_heading_terms >= 0),
  n_terms INTEGER NOT NULL CHECK (n_terms >= 0),
  terms_hash TEXT NOT NULL CHECK (length(terms_hash) = 64),
  created_at TEXT NOT NULL CHECK (created_at GLOB '????-??-??T??:??:??.??????Z'),
  added_revision INTEGER NOT NULL CHECK (added_revision > 0),
  retired_revision INTEGER CHECK (retired_revision > added_revision)
) STRICT;

CREATE UNIQUE INDEX chunk_live ON chunk (scope_id, chunk_id) WHERE retired_revision IS NULL;

CREATE INDEX chunk_retired ON chunk (scope_id, chunk_id) WHERE retired_revision IS NOT NULL;

CREATE INDEX chunk_length ON chunk (scope_id, n_terms, n_heading_terms) WHERE retired_revision IS NULL;

CREATE INDEX chunk_source ON chunk (source_id, added_revision);

CREATE TABLE embedding_model (
  -- A model whose vectors are in this file. The fingerprint covers id, revision, dimension, prefixes, normalisation
  -- and post-processing; vectors of two fingerprints are never compared.
  id INTEGER PRIMARY KEY,
  fingerprint TEXT NOT NULL UNIQUE CHECK (length(fingerprint) = 64),
  model_id TEXT NOT NULL,
  dimension INTEGER NOT NULL CHECK (dimension BETWEEN 1 AND 16384),
  spec TEXT NOT NULL CHECK (json_valid(spec) AND json_type(spec) = 'object'),
  -- Vectors of three fixed texts, concatenated: the same fingerprint with other canaries is another model.
  canaries BLOB NOT NULL,
  created_at TEXT NOT NULL CHECK (created_at GLOB '????-??-??T??:??:??.??????Z')
) STRICT;

CREATE TABLE chunk_embedding (
  -- One chunk's unit vector, float32 little-endian: the truth that every vector index is derived from.
  -- A scope gets its own row even when the value was computed for another one: a value may be reused, a result may not.
  id INTEGER PRIMARY KEY,
  scope_id INTEGER NOT NULL REFERENCES scope (id),
  model INTEGER NOT NULL REFERENCES embedding_model (id),
  chunk INTEGER NOT NULL REFERENCES chunk (id),
  embed_hash TEXT NOT NULL CHECK (length(embed_hash) = 64),
  vector BLOB NOT NULL CHECK (length(vector) > 0 AND length(vector) % 4 = 0),
  added_revision INTEGER NOT NULL CHECK (added_revision > 0),
  retired_revision INTEGER CHECK (retired_revision > added_revision)
) STRICT;

CREATE UNIQUE INDEX chunk_embedding_live ON chunk_embedding (scope_id, model, chunk) WHERE retired_revision IS NULL;

CREATE INDEX chunk_embedding_value ON chunk_embedding (model, embed_hash);

CREATE INDEX chunk_embedding_chunk ON chunk_embedding (chunk);

CREATE TABLE scope_index (
  -- For each scope and channel index: the content revision it covers and the versions that made it.
  scope_id INTEGER NOT NULL REFERENCES scope (id),
  name TEXT NOT NULL CHECK (name IN ('chunk_text', 'memory_text', 'vector')),
  content_revision INTEGER NOT NULL CHECK (content_revision >= 0),
  version TEXT NOT NULL,
  analyser_version TEXT NOT NULL,
  PRIMARY KEY (scope_id, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE memory (
  -- One row per version of a memory: the live one has no retired_revision, the others are its history.
  id INTEGER PRIMARY KEY,
  scope_id INTEGER NOT NULL REFERENCES scope (id),
  memory_id TEXT NOT NULL CHECK (length(trim(memory_id)) > 0 AND length(memory_id) <= 200),
  kind TEXT NOT NULL CHECK (kind IN ('knowledge', 'literature', 'experiment', 'workflow', 'preference', 'research_case')),
  title TEXT NOT NULL CHECK (length(trim(title)) > 0),
  content TEXT NOT NULL CHECK (length(trim(content)) > 0),
  content_hash TEXT NOT NULL CHECK (length(content_hash) = 64),
  source_refs TEXT NOT NULL CHECK (json_valid(source_refs) AND json_type(source_refs) = 'array'),
  confidence REAL NOT NULL CHECK (confidence BETWEEN 0 AND 1),
  applicability TEXT NOT NULL CHECK (json_valid(applicability) AND json_type(applicability) = 'object'),
  status TEXT NOT NULL
    CHECK (status IN ('candidate', 'verified', 'published', 'deprecated', 'conflict', 'expired', 'revoked')),
  conflict_key TEXT CHECK (conflict_key = trim(conflict_key) AND length(conflict_key) > 0),
  expires_at TEXT CHECK (expires_at GLOB '????-??-??T??:??:??.??????Z'),
  related_memory_ids TEXT NOT NULL CHECK (json_valid(related_memory_ids) AND json_type(related_memory_ids) = 'array'),
  evidence_chunk_ids TEXT NOT NULL CHECK (json_valid(evidence_chunk_ids) AND json_type(evidence_chunk_ids) = 'array'),
  proposed_actions TEXT NOT NULL CHECK (json_valid(proposed_actions) AND json_type(proposed_actions) = 'array'),
  metadata TEXT NOT NULL CHECK (json_valid(metadata) AND json_type(metadata) = 'object'),
  n_heading_terms INTEGER NOT NULL CHECK (n_heading_terms >= 0),
  n_terms INTEGER NOT NULL CHECK (n_terms >= 0),
  terms_hash TEXT NOT NULL CHECK (length(terms_hash) = 64),
  actor TEXT NOT NULL CHECK (length(trim(actor)) > 0),
  -- Why this version exists: a person's words for a status change, '' for a save.
  reason TEXT NOT NULL,
  created_at TEXT NOT NULL CHECK (created_at GLOB '????-??-??T??:??:??.??????Z'),
  updated_at TEXT NOT NULL CHECK (updated_at GLOB '????-??-??T??:??:??.??????Z'),
  added_revision INTEGER NOT NULL CHECK (added_revision > 0),
  retired_revision INTEGER CHECK (retired_revision > added_revision)
) STRICT;

CREATE UNIQUE INDEX memory_live ON memory (scope_id, memory_id) WHERE retired_revision IS NULL;

CREATE UNIQUE INDEX memory_version ON memory (scope_id, memory_id, added_revision);

CREATE INDEX memory_published ON memory (scope_id, status) WHERE retired_revision IS NULL;

CREATE TABLE retrieval (
  -- What was asked, how it was answered, and all that is needed to run it again on the store as it was.
  id INTEGER PRIMARY KEY,
  scope_id INTEGER NOT NULL REFERENCES scope (id),
  scope_seq INTEGER NOT NULL CHECK (scope_seq > 0),
  retrieval_id TEXT NOT NULL,
  at TEXT NOT NULL CHECK (at GLOB '????-??-??T??:??:??.??????Z'),
  actor TEXT NOT NULL CHECK (length(trim(actor)) > 0),
  -- The query after credentials were taken out; NULL when arr.toml says audit.query = "hash".
  query TEXT,
  query_hash TEXT NOT NULL CHECK (length(query_hash) = 64),
  plan TEXT NOT NULL CHECK (json_valid(plan) AND json_type(plan) = 'object'),
  plan_origin TEXT NOT NULL CHECK (plan_origin IN ('rules', 'caller', 'model')),
  limits TEXT NOT NULL CHECK (json_valid(limits) AND json_type(limits) = 'object'),
  scope_revision INTEGER NOT NULL CHECK (scope_revision >= 0),
  analyser_version TEXT NOT NULL,
  index_version TEXT NOT NULL,
  model_fingerprint TEXT CHECK (length(model_fingerprint) = 64),
  -- Kept so that running it again depends on neither the model nor the processor.
  query_vectors TEXT NOT NULL CHECK (json_valid(query_vectors) AND json_type(query_vectors) = 'object'),
  policy_hash TEXT NOT NULL CHECK (length(policy_hash) = 64),
  traces TEXT NOT NULL CHECK (json_valid(traces) AND json_type(traces) = 'array'),
  rejections TEXT NOT NULL CHECK (json_valid(rejections) AND json_type(rejections) = 'array'),
  degradations TEXT NOT NULL CHECK (json_valid(degradations) AND json_type(degradations) = 'array'),
  partial INTEGER NOT NULL CHECK (partial IN (0, 1)),
  state TEXT NOT NULL CHECK (state IN ('found', 'nothing_found', 'incomplete')),
  n_evidence INTEGER NOT NULL CHECK (n_evidence >= 0),
  duration_ms REAL NOT NULL CHECK (duration_ms >= 0),
  record_hash TEXT NOT NULL CHECK (length(record_hash) = 64), language_model TEXT -- What a model advised: its id, prompts, outcomes, each candidate's score. NULL where none was asked.
  CHECK (language_model IS NULL OR (json_valid(language_model) AND json_type(language_model) = 'object')),
  UNIQUE (scope_id, scope_seq),
  UNIQUE (scope_id, retrieval_id)
) STRICT;

CREATE TABLE retrieval_evidence (
  -- One returned item: which text (by hash), where it stood, and each channel's rank and score.
  retrieval INTEGER NOT NULL REFERENCES retrieval (id),
  rank INTEGER NOT NULL CHECK (rank >= 1),
  scope_id INTEGER NOT NULL REFERENCES scope (id),
  chunk_id TEXT NOT NULL,
  content_hash TEXT NOT NULL CHECK (length(content_hash) = 64),
  source_ref TEXT NOT NULL,
  locator TEXT NOT NULL,
  channels TEXT NOT NULL CHECK (json_valid(channels) AND json_type(channels) = 'array'),
  rrf_score REAL,
  rerank_score REAL,
  rerank_reason TEXT NOT NULL,
  freshness TEXT NOT NULL CHECK (freshness IN ('fresh', 'changed', 'missing', 'unverifiable')),
  PRIMARY KEY (retrieval, rank)
) STRICT, WITHOUT ROWID;

CREATE VIEW audit_trail AS
-- Who did what, when, in which scope: the audit log with the five scope columns.
SELECT
  e.seq AS seq, e.at AS at, e.actor AS actor, e.kind AS kind, e.subject_kind AS subject_kind, e.subject_id AS subject_id,
  s.team_id AS team_id, s.project_id AS project_id, s.repository AS repository, s.branch AS branch,
  s.experiment_environment AS experiment_environment,
  e.scope_seq AS scope_seq, e.revision AS revision, e.details AS details,
  e.subject_hash AS subject_hash, e.prev_hash AS prev_hash, e.hash AS hash
FROM audit_event AS e LEFT JOIN scope AS s ON s.id = e.scope_id;

CREATE VIEW evidence_trail AS
-- Every item ever returned, with its ranks and scores.
SELECT
  r.retrieval_id AS retrieval_id, r.at AS at, e.rank AS rank, e.source_ref AS source_ref, e.locator AS locator,
  e.chunk_id AS chunk_id, e.freshness AS freshness, e.rrf_score AS rrf_score, e.rerank_score AS rerank_score,
  (SELECT group_concat(json_extract(c.value, '$.channel') || '#' || json_extract(c.value, '$.rank'), ' ')
   FROM json_each(e.channels) AS c) AS found_by,
  e.rerank_reason AS rerank_reason, e.content_hash AS content_hash,
  s.team_id AS team_id, s.project_id AS project_id, s.repository AS repository, s.branch AS branch,
  s.experiment_environment AS experiment_environment
FROM retrieval_evidence AS e
JOIN retrieval AS r ON r.id = e.retrieval
JOIN scope AS s ON s.id = e.scope_id;

CREATE VIEW source_trail AS
-- Every version of every source; the live one has no retired_revision.
SELECT
  v.source_ref AS source_ref, v.title AS title, v.reader AS reader, v.encoding AS encoding,
  v.encoding_confidence AS encoding_confidence, v.size AS size, v.n_chunks AS chunks, v.lines_withheld AS lines_withheld,
  v.git_commit AS git_commit, v.git_state AS git_state, v.created_at AS read_at,
  v.added_revision AS added_revision, v.retired_revision AS retired_revision,
  s.team_id AS team_id, s.project_id AS project_id, s.repository AS repository, s.branch AS branch,
  s.experiment_environment AS experiment_environment, v.content_hash AS content_hash
FROM source_version AS v JOIN scope AS s ON s.id = v.scope_id;

CREATE VIEW chunk_trail AS
-- Every chunk that is or was searchable, with its source as it stands now.
SELECT
  c.chunk_id AS chunk_id, v.source_ref AS source_ref, c.locator AS locator, c.heading AS heading, c.content AS content,
  c.start_line AS start_line, c.end_line AS end_line, c.added_revision AS added_revision,
  c.retired_revision AS retired_revision,
  s.team_id AS team_id, s.project_id AS project_id, s.repository AS repository, s.branch AS branch,
  s.experiment_environment AS experiment_environment, c.content_hash AS content_hash
FROM chunk AS c
JOIN scope AS s ON s.id = c.scope_id
LEFT JOIN source_version AS v ON v.source_id = c.source_id AND v.retired_revision IS NULL;

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

CREATE TRIGGER approval_package_no_delete BEFORE DELETE ON approval_package
WHEN NOT EXISTS (
  SELECT 1 FROM forget_subject AS f
  WHERE f.scope_id = OLD.scope_id AND f.kind = 'approval_package' AND f.subject_id = OLD.package_id
    AND f.text_hash = OLD.payload_hash
)
BEGIN
  SELECT RAISE(ABORT, 'approval_package is frozen: a package is never removed');
END;

CREATE TRIGGER approval_decision_no_delete BEFORE DELETE ON approval_decision
WHEN NOT EXISTS (
  SELECT 1 FROM forget_subject AS f
  WHERE f.scope_id = OLD.scope_id AND f.kind = 'approval_package' AND f.subject_id = OLD.package_id
    AND f.text_hash = OLD.payload_hash
)
BEGIN
  SELECT RAISE(ABORT, 'approval_decision is final: a decision is never removed');
END;

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

CREATE VIEW memory_trail AS
-- Every version of every memory, with what it rests on; the live one has no retired_revision.
SELECT
  m.memory_id AS memory_id, m.status AS status, m.kind AS kind, m.title AS title, m.confidence AS confidence,
  m.actor AS actor, m.reason AS reason, m.updated_at AS updated_at, m.expires_at AS expires_at,
  m.added_revision AS added_revision, m.retired_revision AS retired_revision,
  m.source_refs AS source_refs, m.evidence_chunk_ids AS evidence_chunk_ids, m.conflict_key AS conflict_key,
  s.team_id AS team_id, s.project_id AS project_id, s.repository AS repository, s.branch AS branch,
  s.experiment_environment AS experiment_environment, m.content AS content, m.content_hash AS content_hash
FROM memory AS m JOIN scope AS s ON s.id = m.scope_id;

CREATE VIEW retrieval_trail AS
-- What was asked and how it was answered, one line a retrieval.
SELECT
  r.retrieval_id AS retrieval_id, r.at AS at, r.actor AS actor, coalesce(r.query, '(hash) ' || r.query_hash) AS query,
  r.state AS state, CASE r.partial WHEN 1 THEN 'partial' ELSE 'complete' END AS completeness,
  r.n_evidence AS evidence,
  (SELECT group_concat(e.rank || '. ' || e.source_ref || ' ' || e.locator, '; ')
   FROM retrieval_evidence AS e WHERE e.retrieval = r.id AND e.rank <= 3) AS first_three,
  (SELECT group_concat(DISTINCT json_extract(d.value, '$.code')) FROM json_each(r.degradations) AS d) AS degradations,
  (SELECT group_concat(DISTINCT json_extract(j.value, '$.code')) FROM json_each(r.rejections) AS j) AS rejections,
  round(r.duration_ms, 1) AS duration_ms,
  s.team_id AS team_id, s.project_id AS project_id, s.repository AS repository, s.branch AS branch,
  s.experiment_environment AS experiment_environment,
  r.scope_revision AS scope_revision, r.plan_origin AS plan_origin,
  json_extract(r.language_model, '$.model') AS language_model
FROM retrieval AS r JOIN scope AS s ON s.id = r.scope_id;

CREATE INDEX chunk_size ON chunk (id, n_terms, n_heading_terms) WHERE retired_revision IS NULL;

CREATE TABLE memory_embedding (
  -- One memory version's unit vector, as chunk_embedding has them for chunks: a scope's own rows, float32 little-endian.
  -- A published memory gets one from `arr embed`; a next version with the same words takes it along.
  id INTEGER PRIMARY KEY,
  scope_id INTEGER NOT NULL REFERENCES scope (id),
  model INTEGER NOT NULL REFERENCES embedding_model (id),
  memory INTEGER NOT NULL REFERENCES memory (id),
  -- Hash of title and content, as embedded.
  embed_hash TEXT NOT NULL CHECK (length(embed_hash) = 64),
  vector BLOB NOT NULL CHECK (length(vector) > 0 AND length(vector) % 4 = 0),
  added_revision INTEGER NOT NULL CHECK (added_revision > 0),
  retired_revision INTEGER CHECK (retired_revision > added_revision)
) STRICT;

CREATE UNIQUE INDEX memory_embedding_live ON memory_embedding (scope_id, model, memory) WHERE retired_revision IS NULL;

CREATE INDEX memory_embedding_value ON memory_embedding (model, embed_hash);

CREATE INDEX memory_embedding_memory ON memory_embedding (memory);

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
