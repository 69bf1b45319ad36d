-- End the visibility of one chunk; the row stays for replay.
UPDATE chunk SET retired_revision = :revision WHERE id = :id;
