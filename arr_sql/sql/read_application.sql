-- Whose file is this, at which schema, and does it hold anything? One statement, so that another process's migration
-- is seen whole or not at all: read one after the other, the id could be from before it and the tables from after it.
SELECT a.application_id AS application_id, v.user_version AS user_version,
  EXISTS (SELECT 1 FROM sqlite_master AS s WHERE s.type IN ('table', 'view')) AS has_tables
FROM pragma_application_id AS a CROSS JOIN pragma_user_version AS v
LIMIT 1;
