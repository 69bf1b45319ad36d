-- Count one change of the scope; a change that retrieval can see moves content_revision along.
UPDATE scope
SET revision = revision + 1, content_revision = CASE WHEN :is_content THEN revision + 1 ELSE content_revision END
WHERE id = :scope_id;
