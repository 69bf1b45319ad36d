-- Which tables and views does the file have for people with SQL, with which columns, and how was each defined?
SELECT s.name AS name, s.type AS type, s.sql AS sql,
  coalesce((SELECT group_concat(p.name, ' ') FROM pragma_table_info(s.name) AS p), '') AS columns
FROM sqlite_master AS s
WHERE s.type IN ('table', 'view') AND s.name NOT LIKE 'sqlite\_%' ESCAPE '\'
  AND s.name NOT LIKE 'chunk\_fts\_%' ESCAPE '\' AND s.name NOT LIKE 'memory\_fts\_%' ESCAPE '\'
ORDER BY s.type, s.name;
