-- What did the folders of one root of this scope hold when their lines were indexed?
SELECT f.scope_id AS scope_id, f.root_id AS root_id, f.path AS path, f.made_by AS made_by, f.device AS device, f.inode AS inode, f.mtime_ns AS mtime_ns,
  f.ctime_ns AS ctime_ns, f.rules AS rules, f.names AS names, f.marks AS marks, f.stats AS stats, f.lengths AS lengths,
  f.sieves AS sieves, f.check_sum AS check_sum
FROM scope AS s
CROSS JOIN line_index_folder AS f ON f.scope_id = s.id AND f.root_id = :root_id
WHERE s.team_id = :team_id AND s.project_id = :project_id AND s.repository = :repository
  AND s.branch = :branch AND s.experiment_environment = :experiment_environment
ORDER BY f.path;
