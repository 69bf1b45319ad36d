-- How large are the file's pages, how many are there, and how many of them hold nothing?
SELECT s.page_size AS page_size, c.page_count AS page_count, f.freelist_count AS free_pages
FROM pragma_page_size AS s CROSS JOIN pragma_page_count AS c CROSS JOIN pragma_freelist_count AS f
LIMIT 1;
