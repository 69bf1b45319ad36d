-- How many rows and terms does FTS5 note for the whole memory index (varints: rows, then one a column)?
SELECT d.block AS totals FROM memory_fts_data AS d WHERE d.id = 1;
