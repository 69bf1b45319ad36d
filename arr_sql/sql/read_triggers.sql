-- Every trigger of the file with its definition, to take them off for an import and put them back.
SELECT s.name AS name, s.sql AS sql FROM sqlite_master AS s WHERE s.type = 'trigger' ORDER BY s.name;
