-- Everything that the file's schema names, derived index structures and sqlite-utils' tables included.
SELECT s.type AS type, s.name AS name, s.tbl_name AS tbl_name, s.sql AS sql FROM sqlite_master AS s
ORDER BY s.type, s.name;
