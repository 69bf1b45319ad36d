-- One time for one migration in both ledgers: ours, in the form that sqlite-utils writes.
UPDATE _sqlite_migrations SET applied_at = (
  SELECT replace(replace(m.applied_at, 'T', ' '), 'Z', '+00:00') FROM migration_record AS m WHERE m.name = _sqlite_migrations.name)
WHERE migration_set = 'arr_sql' AND name IN (SELECT m.name FROM migration_record AS m);
