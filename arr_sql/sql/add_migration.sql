-- Record that a migration was applied, in the same transaction as the migration.
INSERT INTO migration_record (name, sha256, applied_at) VALUES (:name, :sha256, :applied_at);
