-- Every ordinary table of the file by name, without SQLite's own, those that the text index is made of, and the counter and
-- lock that Litestream keeps in a file it copies.
SELECT s.name AS name
FROM sqlite_master AS s
WHERE s.type = 'table' AND s.name NOT LIKE 'sqlite\_%' ESCAPE '\' AND s.sql NOT LIKE 'CREATE VIRTUAL%'
  AND s.name NOT LIKE 'chunk\_fts%' ESCAPE '\' AND s.name NOT LIKE 'memory\_fts%' ESCAPE '\'
  AND s.name NOT IN ('_litestream_lock', '_litestream_seq')
ORDER BY s.name;
