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

-- Texts that were evidence once: a record of a past answer finds them by id.
CREATE INDEX chunk_retired ON chunk (scope_id, chunk_id) WHERE retired_revision IS NOT NULL;

-- Count and average length of a scope's live chunks from the index alone.
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
