-- After a rebuild with one model: the scope's vectors of memories of all others retire.
UPDATE memory_embedding SET retired_revision = :revision
WHERE scope_id = :scope_id AND model <> :model AND retired_revision IS NULL AND added_revision < :revision;
