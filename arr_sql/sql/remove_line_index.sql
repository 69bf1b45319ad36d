-- This scope keeps no index of lines any more.
DELETE FROM line_index WHERE scope_id = :scope_id;
