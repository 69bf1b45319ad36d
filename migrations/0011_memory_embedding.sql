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
