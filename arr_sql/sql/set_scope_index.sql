-- Note which content revision a scope's index covers and which versions made it.
INSERT INTO scope_index (scope_id, name, content_revision, version, analyser_version)
VALUES (:scope_id, :name, :content_revision, :version, :analyser_version)
ON CONFLICT (scope_id, name) DO UPDATE
SET content_revision = excluded.content_revision, version = excluded.version, analyser_version = excluded.analyser_version;
