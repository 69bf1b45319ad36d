-- Before an import: the exported file's own record of migrations takes the new file's place.
DELETE FROM migration_record;
