-- Every scan of the file, to compare with the events that vouch for them.
SELECT c.id AS id, c.receipt AS receipt, c.at AS at, c.actor AS actor, c.file_kind AS file_kind, c.path_hash AS path_hash,
  c.method AS method, c.result AS result, c.n_probes AS n_probes, c.n_bytes AS n_bytes, c.n_found AS n_found,
  c.held_elsewhere AS held_elsewhere
FROM forget_scan AS c ORDER BY c.id;
