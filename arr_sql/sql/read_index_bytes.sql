-- How many bytes do the text indexes of the file take (all scopes), and its vectors?
SELECT
  (SELECT coalesce(sum(length(d.block)), 0) FROM chunk_fts_data AS d)
  + (SELECT coalesce(sum(length(d.block)), 0) FROM memory_fts_data AS d) AS text_bytes,
  (SELECT coalesce(sum(length(e.vector)), 0) FROM chunk_embedding AS e WHERE e.retired_revision IS NULL)
  + (SELECT coalesce(sum(length(e.vector)), 0) FROM memory_embedding AS e WHERE e.retired_revision IS NULL) AS vector_bytes
LIMIT 1;
