-- End the visibility of a memory's version; the row stays as its history.
UPDATE memory SET retired_revision = :revision WHERE id = :id;
