-- End the visibility of a source's version; the row stays for replay.
UPDATE source_version SET retired_revision = :revision WHERE id = :id;
