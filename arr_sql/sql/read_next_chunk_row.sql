-- Which row will the next chunk be? As SQLite itself would number it.
SELECT coalesce(max(c.id), 0) + 1 AS id FROM chunk AS c;
