-- Show or hide one copied row of memory_embedding (in the private file of a replay; nothing else is ever shown again).
UPDATE memory_embedding SET retired_revision = CASE WHEN :is_shown THEN NULL ELSE added_revision + 1 END WHERE id = :id;
