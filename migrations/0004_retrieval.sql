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
  record_hash TEXT NOT NULL CHECK (length(record_hash) = 64),
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
