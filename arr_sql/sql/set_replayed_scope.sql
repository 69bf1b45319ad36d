-- The revision at which the private file of a replay stands now.
UPDATE scope SET revision = :revision, content_revision = :revision WHERE id = :id;
