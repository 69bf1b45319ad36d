-- Every chunk that these sources have or had (:sources is a JSON array of row ids).
SELECT c.id AS id, c.chunk_id AS chunk_id, c.heading AS heading, c.content AS content, c.content_hash AS content_hash,
  c.locator AS locator, c.terms_hash AS terms_hash, c.retired_revision AS retired_revision
FROM json_each(:sources) AS j
CROSS JOIN chunk AS c ON c.source_id = j.value
ORDER BY c.id;
