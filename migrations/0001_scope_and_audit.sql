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

-- Also stops INSERT OR REPLACE, which walks past the two triggers above when recursive_triggers is off: it would remove
-- the event with the same number, or (hence the last condition) the one with the same hash.
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
