-- A retired chunk's vectors retire with it.
UPDATE chunk_embedding SET retired_revision = :revision WHERE chunk = :id AND retired_revision IS NULL;
