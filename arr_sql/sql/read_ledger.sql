-- Which migrations do both ledgers know, ours (with hashes) and that of sqlite-utils, and do they agree on the time?
SELECT m.name AS name, m.sha256 AS sha256,
  (SELECT count(*) FROM _sqlite_migrations AS u
   WHERE u.migration_set = 'arr_sql' AND u.name = m.name
     AND u.applied_at = replace(replace(m.applied_at, 'T', ' '), 'Z', '+00:00')) AS agreeing,
  (SELECT count(*) FROM _sqlite_migrations AS u) AS listed, (SELECT max(u.id) FROM _sqlite_migrations AS u) AS highest
FROM migration_record AS m ORDER BY m.name;
