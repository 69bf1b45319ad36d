-- Which sources of one scope have or had one of these texts (:chunks is a JSON array of [chunk_id, content_hash] pairs)?
SELECT c.source_id AS source_id, c.id AS id
FROM json_each(:chunks) AS j
CROSS JOIN chunk AS c ON c.scope_id = :scope_id AND c.chunk_id = json_extract(j.value, '$[0]')
  AND c.content_hash = json_extract(j.value, '$[1]') AND c.retired_revision IS NULL
UNION ALL
SELECT c.source_id AS source_id, c.id AS id
FROM json_each(:chunks) AS j
CROSS JOIN chunk AS c ON c.scope_id = :scope_id AND c.chunk_id = json_extract(j.value, '$[0]')
  AND c.content_hash = json_extract(j.value, '$[1]') AND c.retired_revision IS NOT NULL
ORDER BY source_id, id;
