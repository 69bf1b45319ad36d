-- Everything that the file's schema says, index structures included.
SELECT s.name AS name, s.tbl_name AS tbl_name, s.sql AS sql FROM sqlite_master AS s ORDER BY s.name;
