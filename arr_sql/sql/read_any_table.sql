-- Does the file hold any table at all? (An empty file may become a database, another application's may not.)
SELECT name FROM sqlite_master WHERE type IN ('table', 'view') LIMIT 1;
