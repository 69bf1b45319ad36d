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
