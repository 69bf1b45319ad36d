-- A retired version's vectors retire with it.
UPDATE memory_embedding SET retired_revision = :revision WHERE memory = :id AND retired_revision IS NULL;
