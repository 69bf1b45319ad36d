-- Every table, index, trigger and view that belongs to content, in the order in which a fresh file makes them.
-- Derived index structures (chunk_fts..., memory_fts...) and tables of SQLite and sqlite-utils are left out.
SELECT s.sql AS sql
FROM sqlite_master AS s
WHERE s.sql IS NOT NULL
  AND s.name NOT LIKE 'sqlite\_%' ESCAPE '\'
  AND s.name NOT LIKE '\_sqlite%' ESCAPE '\'
  AND s.name NOT LIKE 'idx\_\_sqlite%' ESCAPE '\'
  AND s.tbl_name NOT LIKE 'chunk\_fts%' ESCAPE '\'
  AND s.tbl_name NOT LIKE 'chunk\_term%' ESCAPE '\'
  AND s.tbl_name NOT LIKE 'memory\_fts%' ESCAPE '\'
  AND s.tbl_name NOT LIKE 'memory\_term%' ESCAPE '\'
  AND s.tbl_name NOT LIKE '\_sqlite%' ESCAPE '\'
ORDER BY s.rowid;
