-- The file that copied versions belong to.
INSERT INTO source (id, scope_id, root_id, created_at) VALUES (:source_id, :scope_id, :root_id, :created_at)
ON CONFLICT (id) DO NOTHING;
