-- A file that was not known before.
INSERT INTO source (scope_id, root_id, created_at) VALUES (:scope_id, :root_id, :created_at);
