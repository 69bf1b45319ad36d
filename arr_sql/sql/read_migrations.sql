-- Which migrations were applied to this file, and what was each one's text (as a hash)?
SELECT m.name AS name, m.sha256 AS sha256 FROM migration_record AS m ORDER BY m.name;
